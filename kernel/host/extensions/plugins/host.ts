/** The plugins of a gateway. They are set up in the order of their needs. */
import { endOrLate } from "../../../timing/deadline.ts";
import { undoLimitMs } from "../../../timing/scope.ts";
import { ExtensionHost } from "../host.ts";
import { shouldRun } from "../slot.ts";
import type { PluginVersion } from "./candidate.ts";
import { declaredNames } from "./declared.ts";
import { PluginKind, type PluginKindOptions, type PluginSlot } from "./kind.ts";
import { type PluginRecord, describePluginState } from "./record.ts";

export type PluginHostOptions = Omit<PluginKindOptions, "limits"> &
  Partial<Pick<PluginKindOptions, "limits">>;

const DEFAULT_LIMITS = { undoMs: undoLimitMs, configMs: 15_000 };

export class PluginHost extends ExtensionHost<PluginVersion, PluginSlot, PluginRecord> {
  readonly #kind: PluginKind;
  readonly #isEnabled: (name: string) => boolean;
  readonly #undoMs: number;

  constructor({ limits = DEFAULT_LIMITS, ...options }: PluginHostOptions) {
    const kind = new PluginKind({ ...options, limits });
    super(kind);
    this.#kind = kind;
    this.#isEnabled = options.enabled;
    this.#undoMs = limits.undoMs;
    options.parts.services.onProvide(() => this.resumeWaiting());
  }

  /**
   * Starts all plugins. Throws the error of a plugin that refuses the configuration, so that the gateway does not start
   * with a wrong one.
   */
  override async start(): Promise<void> {
    await super.start();
    if (this.#kind.refusal) throw this.#kind.refusal;
  }

  /** Returns the state of each plugin. */
  standings() {
    const missing = this.#kind.findMissing.bind(this.#kind);
    return this.mapCandidates((slot, candidate) => describePluginState(slot, candidate, missing));
  }

  /** The members of a hook's `ctx` that any plugin here may provide, running or not. */
  hookMembers(): readonly string[] {
    return this.#kind.hookMembers;
  }

  /** Returns the names that enabled plugins declare for a contribution point. */
  declaredNames(point: string) {
    return declaredNames(this.#kind.candidates, this.#isEnabled, point);
  }

  /** Returns the plugins that should run but do not, for `/ready`. */
  unready(): { name: string; error: string }[] {
    return [...this.slots.values()]
      .filter((slot) => !slot.active && shouldRun(slot))
      .map(({ name }) => ({ name, error: this.info(name).error ?? "it is starting" }));
  }

  /** Stops every plugin, in the reverse order of their needs. */
  protected override async stopAll(
    slots: readonly PluginSlot[],
    stop: (slot: PluginSlot) => Promise<void>,
  ): Promise<void> {
    const latestFirst = sortByNeeds(slots).reverse();
    const stopEach = async (group: readonly PluginSlot[]) => {
      for (const slot of group) await stop(slot);
    };
    const usersPlugins = latestFirst.filter((slot) => !isBundled(slot));
    // The clean-ups of the package's own plugins, which close browsers for example, run even if those of users hang.
    await endOrLate(stopEach(usersPlugins), 2 * this.#undoMs);
    await stopEach(latestFirst.filter(isBundled));
  }
}

const isBundled = ({ active }: PluginSlot): boolean =>
  active?.version.candidate.root.name === "bundled";

/** Orders plugins so that each provider of a service comes before those that need the service. */
function sortByNeeds(slots: readonly PluginSlot[]): PluginSlot[] {
  const visited = new Set<PluginSlot>();
  const ordered: PluginSlot[] = [];
  const visit = (slot: PluginSlot): void => {
    if (visited.has(slot)) return;
    visited.add(slot);
    const { needs = [] } = slot.active?.version.candidate.meta ?? {};
    const labels = needs.map((need) => `service ${need}`);
    for (const other of slots)
      if (labels.some((label) => other.active?.scope.effects.includes(label))) visit(other);
    ordered.push(slot);
  };
  slots.forEach(visit);
  return ordered;
}
