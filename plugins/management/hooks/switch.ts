/** Enables and disables hooks permanently, in the configuration. */
import type { HookInfo, Management } from "portico";

interface HookSwitch {
  hooks: Pick<Management["hooks"], "info" | "wake" | "rescan">;
  config: Pick<Management["config"], "set">;
}

/** Enables a hook, and restarts it if it was stopped after failures. */
export async function enableHook({ hooks, config }: HookSwitch, name: string): Promise<HookInfo> {
  if (!hooks.info(name).enabled) await config.set(["hooks", "entries", name, "enabled"], true);
  return hooks.wake(name);
}

export async function disableHook({ hooks, config }: HookSwitch, name: string): Promise<HookInfo> {
  await config.set(["hooks", "entries", hooks.info(name).name, "enabled"], false);
  await hooks.rescan();
  return hooks.info(name);
}
