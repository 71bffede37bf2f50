/** The plugins of a gateway: the extension host with `plugin.ts`, set up in the order of their needs. */
import type { PluginRecord } from "../../contract/records.ts";
import { endOrLate, withDeadline } from "../../timing/deadline.ts";
import { undoLimitMs } from "../../timing/scope.ts";
import { createExtensionHost } from "../host.ts";
import { createPluginKind, inOrderOfNeeds, type PluginHostOptions } from "./kind.ts";
import { isConcerned, sectionsOf } from "./sections.ts";
import type { PluginSlot } from "./set-up.ts";

const defaultLimits = { undoMs: undoLimitMs, configMs: 15_000 };

export function createPluginHost(options: PluginHostOptions) {
  const { parts, limits = defaultLimits } = options;
  const { kind, refusal } = createPluginKind(options, limits.undoMs);
  const host = createExtensionHost(kind);
  const { slots, info } = host;

  /** The plugin takes the change itself, or is set up anew. */
  async function take(slot: PluginSlot, keys: readonly string[]): Promise<void> {
    const { active, top } = slot;
    // What has changed may be what its setup failed for.
    if (top?.meta && slot.error && isConcerned(top.meta, keys)) slot.tried = undefined;
    const definition = active?.version.candidate.meta;
    if (!active || !definition || !host.isWanted(slot) || !isConcerned(definition, keys)) return;
    const { running } = active;
    if (!running.onConfig) return host.swap.start(slot, active.version, active.generation);
    const next = sectionsOf(definition, parts.config.section);
    const taken = running.onConfig(next, running.config);
    await withDeadline(taken, limits.configMs, () => new Error(`its onConfig was not done in ${limits.configMs} ms`));
    running.config = next;
  }

  parts.services.onProvide(host.wake);

  return {
    /** First scan: loads definitions. Then the configuration can be checked, then `start` sets everything up. */
    prepare: host.prepare,
    /** A gateway does not start with a configuration that cannot be right: throws what the plugin threw. */
    async start(): Promise<void> {
      await host.start();
      const refused = refusal();
      if (refused) throw refused;
    },
    /** Something below the roots may have changed. */
    async rescan(): Promise<void> {
      await host.rescan();
    },
    async reload(name: string): Promise<PluginRecord> {
      host.find(name);
      await host.reload(name);
      return info(name);
    },
    reconfigure: (keys: readonly string[]): Promise<void> => host.reconfigure(keys, (slot) => take(slot, keys)),
    /** Takes every plugin down, the latest first. */
    stop: (): Promise<void> =>
      host.stop(async (all, stop) => {
        const latestFirst = inOrderOfNeeds(all).reverse();
        const isBundled = ({ active }: PluginSlot) => active?.version.candidate.root.name === "bundled";
        const stopAll = async (bundled: boolean) => {
          for (const slot of latestFirst) if (isBundled(slot) === bundled) await stop(slot);
        };
        // However many of a user's clean-ups hang: those of the package (which close browsers, say) still run.
        await endOrLate(stopAll(false), 2 * limits.undoMs);
        await stopAll(true);
      }),
    /** The members of a hook's `ctx` that any plugin here may give, running or not. */
    hookMembers: (): string[] =>
      [...slots.values()].flatMap((slot) =>
        slot.candidates.flatMap(({ meta }) => Object.keys(meta?.hookContext ?? {})),
      ),
    list: host.list,
    info,
    /** Wanted plugins that are not active, for `/ready`. */
    unready: (): { name: string; error: string }[] =>
      [...slots.values()].flatMap((slot) => {
        if (slot.active || !host.isWanted(slot)) return [];
        return [{ name: slot.name, error: info(slot.name).error ?? "it is starting" }];
      }),
  };
}
export type PluginHost = ReturnType<typeof createPluginHost>;
