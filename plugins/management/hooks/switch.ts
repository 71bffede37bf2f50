/** Turns hooks on and off for good: in the configuration. */
import type { HookInfo, Management } from "portico";

interface Switched {
  hooks: Pick<Management["hooks"], "info" | "wake" | "rescan">;
  config: Pick<Management["config"], "set">;
}

/** Wakes one that tripped, too. */
export async function enableHook({ hooks, config }: Switched, name: string): Promise<HookInfo> {
  if (!hooks.info(name).enabled) await config.set(["hooks", "entries", name, "enabled"], true);
  return hooks.wake(name);
}

export async function disableHook({ hooks, config }: Switched, name: string): Promise<HookInfo> {
  await config.set(["hooks", "entries", hooks.info(name).name, "enabled"], false);
  await hooks.rescan();
  return hooks.info(name);
}
