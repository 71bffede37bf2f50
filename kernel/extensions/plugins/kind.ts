/** A plugin is an extension with a definition: how it is read, what it waits for, and what running means. */
import type { PluginRecord } from "../../contract/records.ts";
import { isPorticoError, type PorticoError } from "../../errors.ts";
import type { ConfigSchemas, Dispose, ServiceName } from "../../types.ts";
import type { Kind } from "../host.ts";
import type { Loader } from "../load/load.ts";
import type { Root } from "../roots.ts";
import type { DisabledReason } from "../slot.ts";
import { type PluginCandidate, pluginEntryNames, readPlugin } from "./candidate.ts";
import type { PluginParts } from "./context.ts";
import { createPoints } from "./points.ts";
import { describePlugin } from "./record.ts";
import { type PluginSlot, type PluginVersion, type RunningPlugin, setUp } from "./set-up.ts";

export interface PluginHostOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: Omit<PluginParts, "points">;
  enabled: (name: string) => boolean;
  /** How long one undo of a plugin may take, and its taking of a changed configuration. */
  limits?: { undoMs: number; configMs: number };
}

export function createPluginKind({ roots, loader, parts, enabled }: PluginHostOptions, undoMs: number) {
  const { config, services } = parts;
  /** The sections of the configuration, by the directory that owns them. */
  const defined = new Map<string, { schemas: ConfigSchemas; undo: Dispose }>();
  const points = createPoints();
  let scans = 0;
  let refusal: PorticoError | undefined;

  function define({ dir, meta, refused, name }: PluginCandidate): void {
    const before = defined.get(dir);
    // A version that does not load leaves the sections as they were; without any, its own must not be an unknown key.
    if (!meta && before && !refused) return;
    const schemas = meta ? (meta.config ?? {}) : { [name]: parts.anySchema };
    if (before?.schemas === schemas) return;
    void before?.undo();
    defined.set(dir, { schemas, undo: config.define(dir, schemas) });
  }

  /** A section that lost its plugin, or does not fit the new one, must not keep the others from running. */
  function checkConfig(): void {
    try {
      config.check();
    } catch (error) {
      parts.log.warn({ err: error }, `the configuration does not fit the plugins: ${(error as Error).message}`);
    }
  }

  function whyDisabled({ name }: PluginSlot): DisabledReason | undefined {
    return enabled(name) ? undefined : { state: "disabled", reasons: ["the configuration switches it off"] };
  }

  /** Services that it needs and nobody provides. */
  function missing({ meta }: PluginCandidate): ServiceName[] {
    return (meta?.needs ?? []).filter((need) => !services.find(need));
  }

  const kind: Kind<PluginCandidate, PluginVersion, RunningPlugin, PluginSlot, PluginRecord> = {
    section: "plugins",
    entryNames: pluginEntryNames,
    roots,
    log: parts.log,
    undoMs,
    slot(name) {
      const log = parts.log.child({ plugin: name });
      return { name, candidates: [], duplicates: [], disabled: new Map(), generation: 0, log };
    },
    read: (found, before) => readPlugin(found, loader, before),
    scanned(candidates) {
      const dirs = new Set(candidates.map(({ dir }) => dir));
      for (const [dir, { undo }] of defined) {
        if (dirs.has(dir)) continue;
        void undo();
        defined.delete(dir);
      }
      candidates.forEach(define);
      points.declare(candidates.flatMap(({ meta }) => meta ?? []));
      // At a start, whoever starts it looks.
      if (scans++ > 0) checkConfig();
    },
    whyDisabled,
    describe: (slot, candidate) => describePlugin(slot, candidate, missing(candidate)),
    isReady: (candidate) => missing(candidate).length === 0,
    load: async (candidate) => ({ candidate, loadMs: candidate.loadMs }),
    takeUp: ({ takeUp }) => takeUp(),
    async start(version, scope) {
      try {
        return await setUp({ ...parts, points }, version, scope);
      } catch (error) {
        const { cause } = error as Error;
        if (isPorticoError(cause) && cause.code === "config_error") refusal ??= cause;
        throw error;
      }
    },
  };
  return {
    kind,
    /** What a plugin says of a configuration that cannot be right. */
    refusal: () => refusal,
  };
}

/** Whoever provides a service comes before those who need it. */
export function inOrderOfNeeds(slots: readonly PluginSlot[]): PluginSlot[] {
  const ordered = new Set<PluginSlot>();
  const visit = (slot: PluginSlot): void => {
    if (ordered.has(slot)) return;
    ordered.add(slot);
    ordered.delete(slot);
    for (const need of slot.active?.version.candidate.meta?.needs ?? []) {
      for (const other of slots)
        if (other !== slot && other.active?.scope.effects.includes(`service ${need}`)) visit(other);
    }
    ordered.add(slot);
  };
  for (const slot of slots) visit(slot);
  return [...ordered];
}
