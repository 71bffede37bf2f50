/** Data for the commands of hooks and plugins: from the gateway if one is running, else from the disk. */
import { realpathSync } from "node:fs";
import type { EventOutline } from "portico";
import type { CommandIO } from "portico/command-line";

/** Returns the workspace of the gateway that runs from this home, which may have been started with another one. */
export async function findWorkspace(io: CommandIO): Promise<string> {
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

/** True if both paths lead to the same file or directory after links are resolved. */
export function isSamePlace(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

/** Returns the declaration of each event, including events of plugins that are not running. */
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

const LOAD_TIMEOUT_MS = 5_000;

/** Has the gateway scan and load an extension. Returns its state, or undefined if no gateway knows it. */
export async function loadState(
  io: CommandIO,
  kind: "hooks" | "plugins",
  name: string,
): Promise<ExtensionState | undefined> {
  const deadline = Date.now() + LOAD_TIMEOUT_MS;
  try {
    await io.gateway.request("POST", `/kernel/${kind}/rescan`);
    for (;;) {
      const extension = await io.gateway.request<ExtensionState>("GET", extensionRoute(kind, name));
      if (extension.state !== "loading" || Date.now() > deadline) return extension;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch {
    return undefined;
  }
}

export interface ExtensionState {
  dir: string;
  state: string;
  /** The cause, if the extension does not run. */
  error?: string;
  reason?: string;
}

export function extensionRoute(kind: "hooks" | "plugins", name: string): string {
  return `/kernel/${kind}/${encodeURIComponent(name)}`;
}
