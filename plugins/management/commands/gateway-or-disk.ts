/** What hooks' commands need to know: from the gateway where one runs, else from the disk. */
import { realpathSync } from "node:fs";
import type { EventOutline } from "portico";
import type { CommandIO } from "portico/command-line";

/** The gateway that runs from this home may have been started with another workspace. */
export async function workspaceOf(io: CommandIO): Promise<string> {
  const { home, workspace } = io.home().paths;
  try {
    const status = await io.gateway.request<{ home: string; workspace: string }>(
      "GET",
      "/kernel/status",
    );
    return isSamePlace(status.home, home) ? status.workspace : workspace;
  } catch {
    return workspace;
  }
}

/** Links count as what they point to. */
export function isSamePlace(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/** Event → its declaration. What a plugin declares counts, also while it does not run. */
export async function declaredEvents(io: CommandIO): Promise<Record<string, EventOutline>> {
  try {
    const { events } = await io.gateway.request<{ events: (EventOutline & { name: string })[] }>(
      "GET",
      "/kernel/events",
    );
    return {
      ...(await io.home().events()),
      ...Object.fromEntries(events.map(({ name, ...rest }) => [name, rest])),
    };
  } catch {
    return io.home().events();
  }
}

const PATIENCE_MS = 5_000;

/** The state of an extension once the gateway has scanned and loaded it; undefined if no gateway knows it. */
export async function stateOf(
  io: CommandIO,
  kind: "hooks" | "plugins",
  name: string,
): Promise<Place | undefined> {
  const deadline = Date.now() + PATIENCE_MS;
  try {
    await io.gateway.request("POST", `/kernel/${kind}/rescan`);
    for (;;) {
      const place = await io.gateway.request<Place>("GET", pathOf(kind, name));
      if (place.state !== "loading" || Date.now() > deadline) return place;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch {
    return undefined;
  }
}

export interface Place {
  dir: string;
  state: string;
  /** Why it does not run, where it does not. */
  error?: string;
  reason?: string;
}

export function pathOf(kind: "hooks" | "plugins", name: string): string {
  return `/kernel/${kind}/${encodeURIComponent(name)}`;
}
