/** What hooks' commands need to know: from the gateway where one runs, else from the disk. */
import type { CommandIO, EventOutline } from "portico";

/** The gateway that runs from this home may have been started with another workspace. */
export async function workspaceOf(io: CommandIO): Promise<string> {
  const { home, workspace } = io.home().paths;
  try {
    const status = await io.gateway.request<{ home: string; workspace: string }>("GET", "/kernel/status");
    return status.home === home ? status.workspace : workspace;
  } catch {
    return workspace;
  }
}

/** Event → its declaration. */
export async function declaredEvents(io: CommandIO): Promise<Record<string, EventOutline>> {
  try {
    const { events } = await io.gateway.request<{ events: (EventOutline & { name: string })[] }>(
      "GET",
      "/kernel/events",
    );
    return Object.fromEntries(events.map((event) => [event.name, event]));
  } catch {
    return io.home().events();
  }
}
