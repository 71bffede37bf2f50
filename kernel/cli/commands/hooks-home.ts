/** What hooks' commands need to know: from the gateway where one runs, else from the disk. */
import type { EventOutline } from "../hook-template.ts";
import type { PathOptions } from "../../files/paths.ts";
import type { Paths } from "../../types.ts";
import { definitionsOf, type Home, homeOf } from "../definitions.ts";
import type { CommandIO } from "../types.ts";

// "--workspace" here is a flag and not the directory that it is elsewhere.
function homeOnDisk(io: CommandIO): Home {
  const { home, config } = io.options as PathOptions;
  return homeOf({ home, config }, io.env);
}

/** The home's paths; the gateway that runs from it may have been started with another workspace. */
export async function hookHome(io: CommandIO): Promise<Paths> {
  const { paths } = homeOnDisk(io);
  try {
    const status = await io.gateway.request<{ home: string; workspace: string }>("GET", "/kernel/status");
    return status.home === paths.home ? { ...paths, workspace: status.workspace } : paths;
  } catch {
    return paths;
  }
}

/** Event → its declaration. Without a gateway as the definitions on disk declare them: nothing of them is set up. */
export async function declaredEvents(io: CommandIO): Promise<Record<string, EventOutline>> {
  try {
    const { events } = await io.gateway.request<{ events: (EventOutline & { name: string })[] }>(
      "GET",
      "/kernel/events",
    );
    return Object.fromEntries(events.map((event) => [event.name, event]));
  } catch {
    const { kernelEvents } = await import("../../gateway/events.ts");
    const definitions = await definitionsOf(homeOnDisk(io));
    return Object.assign({ ...kernelEvents }, ...definitions.map(({ meta }) => meta?.events));
  }
}
