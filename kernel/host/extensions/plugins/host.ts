/** The plugins of a gateway: the extension host with `plugin.ts`, set up in the order of their needs. */
import { isPorticoError, type PorticoError } from "../../../errors.ts";
import { endOrLate, withDeadline } from "../../../timing/deadline.ts";
import { undoLimitMs } from "../../../timing/scope.ts";
import type { WorkerLink } from "../../../contract/workers.ts";
import { createExtensionHost } from "../host.ts";
import type { Loader } from "../../../loader/load.ts";
import type { Root } from "../roots.ts";
import type { Slot } from "../slot.ts";
import {
  type PluginCandidate,
  pluginEntryNames,
  type PluginVersion,
  readPlugin,
} from "./candidate.ts";
import type { PluginParts } from "./context.ts";
import { declaredNames } from "./declared.ts";
import { createPoints } from "./points.ts";
import { describePlugin, type PluginRecord, pluginStanding } from "./record.ts";
import { createSections, isConcerned, sectionsOf } from "./sections.ts";
import { setUp } from "./set-up.ts";

export interface PluginHostOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: Omit<PluginParts, "points">;
  enabled: (name: string) => boolean;
  agree?: WorkerLink["agree"] | undefined;
  /** How long one undo of a plugin may take, and its taking of a changed configuration. */
  limits?: { undoMs: number; configMs: number };
}

const defaultLimits = { undoMs: undoLimitMs, configMs: 15_000 };

export function createPluginHost({
  roots,
  loader,
  parts,
  enabled,
  agree,
  limits = defaultLimits,
}: PluginHostOptions) {
  const { config, services } = parts;
  const points = createPoints(new Set(parts.bus.specs().keys()));
  const sections = createSections(parts);
  /** What a plugin says of a configuration that cannot be right. */
  let refusal: PorticoError | undefined;
  let hookMembers: readonly string[] = [];
  let known: readonly PluginCandidate[] = [];

  /** Services that it needs and nobody provides. */
  const missing = ({ meta }: PluginCandidate): string[] =>
    (meta?.needs ?? []).filter((need) => !services.find(need));

  const host = createExtensionHost<PluginVersion, Slot<PluginVersion>, PluginRecord>({
    section: "plugins",
    entryNames: pluginEntryNames,
    roots,
    log: parts.log,
    agree,
    undoMs: limits.undoMs,
    slot: (name) => ({ log: parts.log.child({ plugin: name }) }),
    read: (found, before) => readPlugin(found, loader, before),
    scanned(candidates) {
      known = candidates;
      const definitions = candidates.flatMap(({ meta }) => meta ?? []);
      points.declare(definitions, enabled);
      sections.define(candidates);
      hookMembers = [
        ...new Set(definitions.flatMap(({ hookContext = {} }) => Object.keys(hookContext))),
      ];
    },
    whyDisabled: ({ name }) =>
      enabled(name)
        ? undefined
        : { state: "disabled", reasons: ["the configuration switches it off"] },
    describe: (slot, candidate) => describePlugin(slot, candidate, missing),
    isReady: (candidate) => missing(candidate).length === 0,
    take: (slot, keys) => take(slot, keys),
    load: async (candidate) => ({ candidate, loadMs: candidate.loadMs }),
    async start(version, scope) {
      try {
        await setUp({ ...parts, points }, version, scope);
      } catch (error) {
        const { cause } = error as Error;
        if (isPorticoError(cause) && cause.code === "config_error") refusal ??= cause;
        throw error;
      }
    },
  });
  const { slots, info } = host;

  async function take(slot: Slot<PluginVersion>, keys: readonly string[]): Promise<void> {
    const { active, top } = slot;
    // What has changed may be what its setup failed for, or is still at work with.
    if (top?.meta && isConcerned(top.meta, keys)) slot.tried = undefined;
    const definition = active?.version.candidate.meta;
    if (!active || !definition || !host.isWanted(slot) || !isConcerned(definition, keys)) return;
    const { version, generation } = active;
    if (!version.onConfig) return host.swap.start(slot, { ...version }, { generation });
    const next = sectionsOf(definition, config.section);
    const taken = version.onConfig(next, version.config ?? {});
    await withDeadline(
      taken,
      limits.configMs,
      () => new Error(`its onConfig was not done in ${limits.configMs} ms`),
    );
    version.config = next;
  }

  services.onProvide(host.wake);

  return {
    ...host,
    /** A gateway does not start with a configuration that cannot be right: throws what the plugin threw. */
    async start(): Promise<void> {
      await host.start();
      if (refusal) throw refusal;
    },
    /** Takes every plugin down, the latest first. */
    stop: (): Promise<void> =>
      host.stop(async (all, stop) => {
        const latestFirst = inOrderOfNeeds(all).reverse();
        const isBundled = ({ active }: Slot<PluginVersion>) =>
          active?.version.candidate.root.name === "bundled";
        const stopAll = async (bundled: boolean) => {
          for (const slot of latestFirst) if (isBundled(slot) === bundled) await stop(slot);
        };
        // However many of a user's clean-ups hang: those of the package (which close browsers, say) still run.
        await endOrLate(stopAll(false), 2 * limits.undoMs);
        await stopAll(true);
      }),
    standings: () => host.each((slot, candidate) => pluginStanding(slot, candidate, missing)),
    /** The members of a hook's `ctx` that any plugin here may give, running or not. */
    hookMembers: () => hookMembers,
    /** The names that enabled plugins declare to add to a point. */
    declaredNames: (point: string) => declaredNames(known, enabled, point),
    /** Wanted plugins that are not active, for `/ready`. */
    unready: (): { name: string; error: string }[] =>
      [...slots.values()]
        .filter((slot) => !slot.active && host.isWanted(slot))
        .map(({ name }) => ({ name, error: info(name).error ?? "it is starting" })),
  };
}
export type PluginHost = ReturnType<typeof createPluginHost>;

/** A plugin that provides a service comes before those that need it. */
function inOrderOfNeeds(slots: readonly Slot<PluginVersion>[]): Slot<PluginVersion>[] {
  const seen = new Set<Slot<PluginVersion>>();
  const ordered: Slot<PluginVersion>[] = [];
  const visit = (slot: Slot<PluginVersion>): void => {
    if (seen.has(slot)) return;
    seen.add(slot);
    const needs = (slot.active?.version.candidate.meta?.needs ?? []).map(
      (need) => `service ${need}`,
    );
    for (const other of slots)
      if (needs.some((need) => other.active?.scope.effects.includes(need))) visit(other);
    ordered.push(slot);
  };
  slots.forEach(visit);
  return ordered;
}
