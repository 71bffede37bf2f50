/**
 * The host of extensions, for hooks and plugins alike: keeps the running versions in line with the files on disk. It
 * finds the candidates of each name, reads them, decides which one should run, loads its version off to the side and
 * swaps it in. Scans and commands run one after another. `Updates` starts versions, `attempt.ts` has the states of one
 * extension.
 */
import { createTurns } from "../../timing/in-turn.ts";
import { advance } from "./attempt.ts";
import { findInStack } from "./culprit.ts";
import { errors } from "./errors.ts";
import type { Kind, Phase } from "./kind.ts";
import { createScan } from "./scan.ts";
import { choose, identifyVersion, isRemoved, type Slot, type Version } from "./slot.ts";
import { Swap } from "./swap.ts";
import { Updates } from "./updates.ts";
import { type Watch, watchRoots } from "./watch.ts";

/** After this delay the gateway has had time to respond to its first requests. */
const WATCH_AFTER_MS = 20;

export class ExtensionHost<V extends Version, S extends Slot<V>, Info> {
  protected readonly slots = new Map<string, S>();
  /** Everything that changes an extension runs in this queue, one after another. */
  readonly inTurn = createTurns();
  readonly #kind: Kind<V, S, Info>;
  readonly #phase: Phase = { started: false, stopped: false };
  readonly #scan: ReturnType<typeof createScan<V, S>>;
  readonly #swap: Swap<V, S>;
  readonly #updates: Updates<V, S>;
  /** The slots by name, as of the last scan. */
  #byName: S[] = [];
  /** The directories that the next rescan reads. */
  #dirty: ReadonlySet<string> | "all" | undefined;
  /** The rescan that waits in the queue. */
  #nextRescan: Promise<void> | undefined;
  #watch: Watch | undefined;
  #watchedRoots = "";

  constructor(kind: Kind<V, S, Info>) {
    const { slots } = this;
    this.#kind = kind;
    this.#scan = createScan(kind, slots);
    this.#swap = new Swap<V, S>(kind, this.#phase);
    this.#updates = new Updates<V, S>({
      kind,
      slots,
      swap: this.#swap,
      phase: this.#phase,
      rescan: (dirs) => this.rescan(dirs),
    });
  }

  /** The word for one extension of this kind: `hook` or `plugin`. */
  get #noun(): string {
    return this.#kind.section.slice(0, -1);
  }

  /** Describes the candidate that should run. Throws `hook_not_found` or `plugin_not_found`. */
  info(name: string): Info {
    const slot = this.find(name);
    return this.#kind.describe(slot, slot.top ?? slot.candidates[0]!);
  }

  list(): Info[] {
    return this.mapCandidates((slot, candidate) => this.#kind.describe(slot, candidate));
  }

  /** Returns the id of the active version, in the form that `agree` takes, and why no newer one runs. */
  current(name: string): { id?: string | undefined; problem?: string | undefined } {
    const { active, attempt } = this.slots.get(name) ?? {};
    return {
      id: active && identifyVersion(active.version.candidate),
      problem: attempt?.problem?.message,
    };
  }

  /** The owner (`hook:hello`, `plugin:clock`) whose files are in the stack of an uncaught error. */
  findInStack(error: Error): string | undefined {
    const name = findInStack(this.slots.values(), error);
    return name === undefined ? undefined : `${this.#noun}:${name}`;
  }

  /** Throws `hook_not_found` or `plugin_not_found`. */
  protected find(name: string): S {
    const slot = this.slots.get(name);
    if (slot && !isRemoved(slot)) return slot;
    const isHook = this.#kind.section === "hooks";
    throw isHook ? errors.unknownHook({ name }) : errors.unknownPlugin({ name });
  }

  /** Maps all candidates, ordered by name. Of several with one name, the one that should run comes first. */
  protected mapCandidates<T>(show: (slot: S, candidate: V["candidate"]) => T): T[] {
    const records: T[] = [];
    for (const slot of this.#byName) {
      if (slot.top) records.push(show(slot, slot.top));
      for (const candidate of [...slot.candidates, ...slot.duplicates])
        if (candidate !== slot.top) records.push(show(slot, candidate));
    }
    return records;
  }

  /** Scans the disk for the first time: finds and reads the extensions, and runs none of them. */
  prepare(): Promise<void> {
    return this.inTurn(() => this.#survey());
  }

  /** Starts all extensions. Watching begins in the background. */
  start(): Promise<void> {
    return this.inTurn(async () => {
      await this.#updates.run();
      this.#phase.started = true;
      setTimeout(() => this.#openWatch(), WATCH_AFTER_MS).unref();
    });
  }

  /** Starts the extensions that waited for a service which may be available now. */
  protected resumeWaiting(): void {
    if (this.#phase.started) void this.inTurn(() => this.#updates.run());
  }

  /** Loads one extension (or all) again, even if its content is unchanged. */
  reload(name?: string): Promise<void> {
    return this.inTurn(async () => {
      for (const slot of name === undefined ? this.slots.values() : [this.find(name)]) {
        advance(slot, "force");
        for (const candidate of slot.candidates) this.#scan.forget(candidate);
      }
      await this.#reconcile();
    });
  }

  /**
   * Updates the extensions to the files on disk. With `dirs`, reads only the extensions that these directories belong
   * to.
   */
  rescan(dirs: readonly string[] = []): Promise<void> {
    const isPartial = dirs.length > 0 && this.#dirty !== "all";
    this.#dirty = isPartial ? new Set([...(this.#dirty ?? []), ...dirs]) : "all";
    this.#nextRescan ??= this.inTurn(async () => {
      const dirty = this.#dirty;
      this.#dirty = undefined;
      this.#nextRescan = undefined;
      await this.#reconcile(dirty === "all" ? undefined : dirty);
    });
    return this.#nextRescan;
  }

  /** Applies a change of these configuration keys. Rejects if an extension refuses the change. */
  reconfigure(keys: readonly string[]): Promise<void> {
    return this.inTurn(async () => {
      if (this.#watch) this.#openWatch();
      await this.#survey();
      const refusals: string[] = [];
      for (const slot of this.slots.values()) {
        try {
          await this.#kind.reconfigure(slot, keys, (version) => this.#restart(slot, version));
        } catch (error) {
          refusals.push(`${this.#noun} ${slot.name}: ${(error as Error).message}`);
        }
      }
      if (refusals.length > 0) throw new Error(refusals.join("; "));
      await this.#updates.run();
    });
  }

  /** Resolves when the directories are being watched. */
  async watching(): Promise<void> {
    this.#openWatch();
    await this.#watch?.ready;
  }

  /** Stops every extension. */
  async stop(): Promise<void> {
    this.#phase.stopped = true;
    this.#watch?.close();
    await this.inTurn(() =>
      this.stopAll([...this.slots.values()], (slot) =>
        this.#swap.stop(slot, "the gateway is stopping"),
      ),
    );
  }

  /** Stops all extensions at once. Plugins override this, because they depend on each other. */
  protected async stopAll(slots: readonly S[], stop: (slot: S) => Promise<void>): Promise<void> {
    await Promise.all(slots.map(stop));
    await this.#swap.waitForCleanUps();
  }

  async #reconcile(dirs?: ReadonlySet<string>): Promise<void> {
    if (this.#phase.stopped) return;
    await this.#survey(dirs);
    for (const slot of this.slots.values()) advance(slot, "rescan");
    await this.#updates.run(() => this.#phase.started);
  }

  /** Scans the disk, decides for each name which candidate should run, and stops those that must not. */
  async #survey(dirs?: ReadonlySet<string>): Promise<void> {
    await this.#scan.scan(dirs);
    this.#byName = [...this.slots.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const stops = [...this.slots.values()].map((slot) => {
      this.#choose(slot);
      return this.#stopDisabled(slot);
    });
    await Promise.all(stops);
  }

  #choose(slot: S): void {
    const previousDir = slot.top?.dir;
    choose(slot, (candidate) => this.#kind.whyDisabled(slot, candidate));
    const { top } = slot;
    if (top === undefined || top.dir === previousDir) return;
    const replaced = slot.candidates.find(({ root }) => root.rank < top.root.rank);
    if (replaced) slot.log.info(`${top.dir} replaces ${replaced.dir}`);
  }

  #restart(slot: S, version: V): Promise<void> {
    const generation = slot.active?.generation ?? slot.generation;
    return this.#swap.start(slot, version, { generation });
  }

  /** Returns a promise only if the kind limits the time of clean-ups; otherwise nothing waits for them. */
  #stopDisabled(slot: S): Promise<void> | undefined {
    const disabled = slot.top && slot.disabled.get(slot.top);
    if (!disabled) return undefined;
    advance(slot, "disable");
    const stopping = this.#swap.stop(slot, disabled.reasons.join("; "));
    return this.#kind.undoMs === undefined ? undefined : stopping;
  }

  /** Watches all roots except the package's own, whose files change only with an update, which is a restart. */
  #openWatch(): void {
    const roots = this.#kind.roots().flatMap(({ name, dir }) => (name === "bundled" ? [] : [dir]));
    if (this.#phase.stopped || this.#watchedRoots === roots.join("\n")) return;
    this.#watchedRoots = roots.join("\n");
    this.#watch?.close();
    this.#watch = watchRoots({
      roots,
      log: this.#kind.log,
      onDirty: (dirs) => this.#rescanInBackground(dirs),
      onFirst: (dirs) => this.#compileEarly(dirs),
    });
  }

  #rescanInBackground(dirs: readonly string[]): void {
    const { log, section } = this.#kind;
    this.rescan(dirs).catch((error: unknown) =>
      log.error({ err: error }, `scanning the ${section} failed`),
    );
  }

  /**
   * Compiles in the queue, so that the scan waits for it. A scan that already waits will compile the files as they are
   * at that time.
   */
  #compileEarly(dirs: readonly string[]): void {
    if (this.#nextRescan) return;
    void this.inTurn(() => this.#scan.compile(new Set(dirs)));
  }
}
