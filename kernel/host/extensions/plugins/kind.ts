/** The plugin kind of extensions: how to read a `plugin.ts`, when to set it up, and how to reconfigure it. */
import { isPorticoError, type PorticoError } from "../../../errors.ts";
import type { Loader } from "../../../loader/load.ts";
import { withDeadline } from "../../../timing/deadline.ts";
import type { Scope } from "../../../timing/scope.ts";
import { advance } from "../attempt.ts";
import type { ExtensionDirectory } from "../discover.ts";
import type { Kind, Restart } from "../kind.ts";
import type { Root } from "../roots.ts";
import { type DisabledReason, shouldRun, type Slot } from "../slot.ts";
import {
  type PluginCandidate,
  pluginEntryNames,
  type PluginVersion,
  readPlugin,
} from "./candidate.ts";
import type { PluginParts } from "./context.ts";
import { createPoints } from "./points.ts";
import { describePlugin, type PluginRecord } from "./record.ts";
import { createSections, isAffected, readSections } from "./sections.ts";
import { setUp } from "./set-up.ts";

export type PluginSlot = Slot<PluginVersion>;

export interface PluginKindOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: Omit<PluginParts, "points">;
  enabled: (name: string) => boolean;
  agree?: Kind<PluginVersion, PluginSlot, PluginRecord>["agree"];
  /** The time limits of one undo and of `onConfig`, in ms. */
  limits: { undoMs: number; configMs: number };
}

const DISABLED: DisabledReason = {
  state: "disabled",
  reasons: ["the configuration disables it"],
};

export class PluginKind implements Kind<PluginVersion, PluginSlot, PluginRecord> {
  readonly section = "plugins";
  readonly entryNames = pluginEntryNames;
  readonly log;
  readonly roots;
  readonly agree;
  readonly undoMs: number;
  /** Every candidate of the last scan. */
  candidates: readonly PluginCandidate[] = [];
  /** The members of a hook's `ctx` that plugins declare, whether or not these run. */
  hookMembers: readonly string[] = [];
  /** The error of the first plugin that refused the configuration. */
  refusal: PorticoError | undefined;
  readonly #options: PluginKindOptions;
  readonly #points;
  readonly #sections;

  constructor(options: PluginKindOptions) {
    const { parts, roots, agree, limits } = options;
    this.#options = options;
    this.log = parts.log;
    this.roots = roots;
    this.agree = agree;
    this.undoMs = limits.undoMs;
    this.#points = createPoints(new Set(parts.bus.specs().keys()));
    this.#sections = createSections(parts);
  }

  slot(name: string) {
    return { log: this.log.child({ plugin: name }) };
  }

  read(
    directory: ExtensionDirectory,
    before: PluginCandidate | undefined,
  ): Promise<PluginCandidate> {
    return readPlugin(directory, this.#options.loader, before);
  }

  onScanned(candidates: readonly PluginCandidate[]): void {
    this.candidates = candidates;
    const definitions = candidates.flatMap(({ meta }) => meta ?? []);
    this.#points.declare(definitions, this.#options.enabled);
    this.#sections.define(candidates);
    const members = definitions.flatMap(({ hookContext = {} }) => Object.keys(hookContext));
    this.hookMembers = [...new Set(members)];
  }

  whyDisabled({ name }: PluginSlot): DisabledReason | undefined {
    return this.#options.enabled(name) ? undefined : DISABLED;
  }

  describe(slot: PluginSlot, candidate: PluginCandidate): PluginRecord {
    return describePlugin(slot, candidate, (of) => this.findMissing(of));
  }

  /** Returns the services that a plugin needs and no active plugin provides. */
  findMissing({ meta }: PluginCandidate): string[] {
    const { services } = this.#options.parts;
    return (meta?.needs ?? []).filter((need) => !services.find(need));
  }

  isReady(candidate: PluginCandidate): boolean {
    return this.findMissing(candidate).length === 0;
  }

  /** Returns a version at once, because reading the plugin has already evaluated its module. */
  async load(candidate: PluginCandidate): Promise<PluginVersion> {
    return { candidate, loadMs: candidate.loadMs };
  }

  async start(version: PluginVersion, scope: Scope, { active }: PluginSlot): Promise<void> {
    const isSameDirectory = active?.version.candidate.realDir === version.candidate.realDir;
    version.keptData = (isSameDirectory ? active?.version.keptData : undefined) ?? new Map();
    try {
      await setUp({ ...this.#options.parts, points: this.#points }, version, scope);
    } catch (error) {
      const { cause } = error as Error;
      if (isPorticoError(cause) && cause.code === "config_error") this.refusal ??= cause;
      throw error;
    }
  }

  async reconfigure(
    slot: PluginSlot,
    keys: readonly string[],
    restart: Restart<PluginVersion>,
  ): Promise<void> {
    const { active, top } = slot;
    // The setup may have failed because of these keys, or may still be running with the old values.
    if (top?.meta && isAffected(top.meta, keys)) advance(slot, "retry");
    const definition = active?.version.candidate.meta;
    if (!active || !definition || !shouldRun(slot) || !isAffected(definition, keys)) return;
    const { version } = active;
    if (!version.onConfig) return restart({ ...version });
    const { parts, limits } = this.#options;
    const next = readSections(definition, parts.config.section);
    const late = () => new Error(`its onConfig did not finish in ${limits.configMs} ms`);
    await withDeadline(version.onConfig(next, version.config ?? {}), limits.configMs, late);
    version.config = next;
  }
}
