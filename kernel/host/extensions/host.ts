/**
 * The one host of extensions, for hooks and plugins: brings what runs in line with what is on disk. It finds the
 * candidates of each name, reads them, decides which is meant, loads its version off to the side and swaps it in. What
 * fails changes nothing, and shows. Scans and commands run one after another.
 */
import { PorticoError } from "../../errors.ts";
import { endOrLate } from "../../timing/deadline.ts";
import { createTurns } from "../../timing/in-turn.ts";
import { type Problem, problemOf, sayProblem } from "../../loader/problem.ts";
import type { Kind, Phase } from "./kind.ts";
import { findInStack } from "./culprit.ts";
import { createScan } from "./scan.ts";
import { type Candidate, choose, type Slot, type Version } from "./slot.ts";
import { createSwap } from "./swap.ts";
import { type Watch, watchRoots } from "./watch.ts";
import type { WorkerLink } from "../../contract/workers.ts";

/** A broken file is reported only when it still is broken at a look after this: editors write in steps. */
const reportAfterMs = 100;
/** A start that takes longer goes on by itself, and no longer holds up the others' changes, nor its own next one. */
const patienceMs = 1_000;

export function createExtensionHost<V extends Version, S extends Slot<V>, Shown>(
  kind: Kind<V, S, Shown>,
) {
  const one = kind.section.slice(0, -1);
  const { log } = kind;
  const slots = new Map<string, S>();
  /** As of the last look at the disk. */
  let byName: S[] = [];
  const { scan, compile, forget } = createScan(kind, slots);
  const phase: Phase = { started: false, stopped: false };
  const swap = createSwap(kind, phase);
  const inTurn = createTurns();
  let dirty: ReadonlySet<string> | "all" | undefined;
  let scanning: Promise<void> | undefined;
  let watch: Watch | undefined;
  let watched = "";

  /** Looks at the disk, decides for each name which candidate is meant, and stops what is not to run. */
  async function survey(dirs?: ReadonlySet<string>): Promise<void> {
    await scan(dirs);
    byName = [...slots.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const stops: Promise<void>[] = [];
    for (const slot of slots.values()) {
      const before = slot.top?.dir;
      choose(slot, (candidate) => kind.whyDisabled(slot, candidate));
      const { top } = slot;
      const below = top && slot.candidates.find((other) => other.root.rank < top.root.rank);
      if (below && top.dir !== before) slot.log.info(`${top.dir} replaces ${below.dir}`);
      const disabled = top && slot.disabled.get(top);
      if (!disabled) continue;
      slot.error = undefined;
      const stopping = swap.stop(slot, disabled.reasons.join("; "));
      if (kind.undoMs !== undefined) stops.push(stopping);
    }
    await Promise.all(stops);
  }

  /**
   * Makes run what is meant to and may: also what only waited for another of these. Where it `asks`, by itself for what runs
   * already, a version is taken up by all processes or by none; others, and a reload, are told of afterwards.
   */
  async function update(asks = ({ active }: S): boolean => active !== undefined): Promise<void> {
    const done = new Set<S>();
    while (!phase.stopped) {
      const ready = [...slots.values()].filter(
        (slot) => !done.has(slot) && isWanted(slot) && isReady(slot),
      );
      if (ready.length === 0) break;
      for (const slot of ready) done.add(slot);
      await Promise.all(
        ready.map((slot) => updateOne(slot, !slot.renew && asks(slot) ? kind.agree : undefined)),
      );
    }
    for (const slot of slots.values()) kind.settled?.(slot);
    // Last: one that was renamed is never without a version that runs, nor that one without its record.
    for (const slot of [...slots.values()].filter(isGone)) {
      slots.delete(slot.name);
      void swap.stop(slot, "it is gone");
    }
  }

  const isGone = ({ candidates }: S) => candidates.length === 0;
  const isWanted = ({ top, disabled }: S) => top !== undefined && !disabled.has(top);
  const isReady = ({ top }: S) =>
    top?.problem !== undefined || (kind.isReady?.(top as Candidate) ?? true);

  async function updateOne(slot: S, agree: WorkerLink["agree"] | undefined): Promise<void> {
    const top = slot.top as Candidate;
    const { active, renew, tried } = slot;
    const id = idOf(top);
    Object.assign(slot, { renew: false, tried: id });
    if (top.problem) return keepOld(slot, top, top.problem);
    if (active && !renew && idOf(active.version.candidate) === id) {
      slot.error = undefined;
      active.version.candidate = top;
      return;
    }
    if (tried === id) return;
    const subject = `${kind.section}.${slot.name}`;
    let voted: Promise<void> | undefined;
    const vote = agree && (() => (voted = agree(subject, id)));
    const announce = (): void =>
      void (phase.started && !agree && kind.agree?.(subject, id).catch(() => {}));
    const fail = (thrown: unknown): void => {
      if (slot.tried !== id) return; // given up for a newer one
      if ((thrown as { code?: unknown }).code === "conflict") return void (slot.tried = undefined); // nor is it agreed on
      if (!voted) agree?.(subject, id, thrown as Error).catch(() => {});
      // A missing package may be installed any moment; everything else is as it is until the content changes.
      slot.retry =
        voted !== undefined ||
        (thrown as { cause?: { code?: unknown } }).cause?.code === "MODULE_NOT_FOUND";
      keepOld(slot, top, problemOf(thrown, top.realDir, top.source?.entry ?? top.entry), thrown);
    };
    try {
      const version = await kind.load(top);
      if (phase.stopped) return;
      const start = swap
        .start(slot, version, { agree: vote, isMeant: () => slot.tried === id })
        .then(announce, fail);
      await (phase.started && !renew && !agree ? endOrLate(start, patienceMs) : start);
    } catch (thrown) {
      fail(thrown);
    }
  }

  /** The new version does not run: what ran goes on where its own directory still is there, and the error shows. */
  function keepOld(slot: S, top: Candidate, problem: Problem, err?: unknown): void {
    const before = slot.error;
    slot.error = problem;
    const still = slot.candidates.some((one) => one.dir === slot.active?.version.candidate.dir);
    if (slot.active && !still) void swap.stop(slot, "it is gone");
    if (before?.message === problem.message && before.line === problem.line)
      return void (slot.error = before);
    const tell = () => {
      if (slot.error !== problem || phase.stopped) return;
      const says = `does not load: ${sayProblem(problem, top.realDir)}; ${consequence(slot, top)}`;
      slot.log.error({ ...problem, err }, says);
    };
    if (phase.started)
      setTimeout(() => void rescan([top.dir]).then(tell, tell), reportAfterMs).unref();
    else tell();
  }

  function consequence({ active, candidates }: S, top: Candidate): string {
    const below = candidates.find((one) => one.root.rank < top.root.rank);
    if (active)
      return `generation ${active.generation} from ${active.version.candidate.dir} keeps running`;
    return below ? `it shadows ${below.dir}, which does not run either` : "it does not run";
  }

  async function reconcile(dirs?: ReadonlySet<string>): Promise<void> {
    if (phase.stopped) return;
    await survey(dirs);
    for (const slot of slots.values()) if (slot.retry) slot.tried = undefined;
    await update(() => phase.started);
  }

  /** Brings everything in line with the disk; with `dirs`, only what these directories belong to. */
  function rescan(dirs: readonly string[] = []): Promise<void> {
    dirty = dirs.length && dirty !== "all" ? new Set([...(dirty ?? []), ...dirs]) : "all";
    return (scanning ??= inTurn(async () => {
      const touched = dirty === "all" ? undefined : dirty;
      dirty = scanning = undefined;
      await reconcile(touched);
    }));
  }

  /** The package's own change with an update, which is a restart; all others while we run. */
  function openWatch(): void {
    const dirs = kind.roots().flatMap((root) => (root.name === "bundled" ? [] : [root.dir]));
    if (phase.stopped || watched === dirs.join("\n")) return;
    watched = dirs.join("\n");
    watch?.close();
    const onDirty = (dirty: readonly string[]) => {
      rescan(dirty).catch((error: unknown) =>
        log.error({ err: error }, `scanning the ${kind.section} failed`),
      );
    };
    // In turn, so that the scan waits for it; one that waits already compiles what there is then.
    const onStir = (dirty: readonly string[]) =>
      void (scanning ?? inTurn(() => compile(new Set(dirty))));
    watch = watchRoots({ roots: dirs, log, onDirty, onStir });
  }

  /** Throws `hook_not_found` or `plugin_not_found`. */
  function find(name: string): S {
    const slot = slots.get(name);
    if (slot && !isGone(slot)) return slot;
    const message = `There is no ${one} ${name}: see \`portico ${kind.section} list\`.`;
    throw new PorticoError(`${one}_not_found`, message, { status: 404 });
  }

  const describeTop = (slot: S) => kind.describe(slot, slot.top ?? slot.candidates[0]!);

  /** By name: of all that goes by it, the candidate that is meant comes first. */
  function each<T>(of: (slot: S, candidate: V["candidate"]) => T): T[] {
    const all: T[] = [];
    for (const slot of byName) {
      if (slot.top) all.push(of(slot, slot.top));
      for (const one of [...slot.candidates, ...slot.duplicates])
        if (one !== slot.top) all.push(of(slot, one));
    }
    return all;
  }

  async function allAtOnce(all: readonly S[], stop: (slot: S) => Promise<void>): Promise<void> {
    await Promise.all(all.map(stop));
    await swap.ended();
  }

  return {
    slots,
    inTurn,
    swap,
    isWanted,
    rescan,
    find,
    /** Which version runs, as `agree` calls it, and why no newer one does. */
    current: (name: string): { id?: string | undefined; problem?: string | undefined } => {
      const { active, error } = slots.get(name) ?? {};
      return { id: active && idOf(active.version.candidate), problem: error?.message };
    },
    each,
    /** The owner (`hook:hello`, `plugin:clock`) whose files stand in the stack of an error that nobody caught. */
    findInStack: (thrown: unknown): string | undefined => {
      const name = findInStack(slots.values(), thrown);
      return name === undefined ? undefined : `${one}:${name}`;
    },
    /** Of the candidate that is meant. */
    info: (name: string): Shown => describeTop(find(name)),
    list: (): Shown[] => each(kind.describe),
    /** First look at the disk: afterwards what there is is known, and nothing of it runs. */
    prepare: () => inTurn(() => survey()),
    /** Makes everything run; watching begins in the background, when the gateway has had time to answer. */
    start: () =>
      inTurn(async () => {
        await update();
        phase.started = true;
        setTimeout(openWatch, 20).unref();
      }),
    /** Something that was waited for may be there. */
    wake: (): void => void (phase.started && inTurn(() => update())),
    /** Loads one (or all) again, even where its content is the same. */
    reload: (name?: string): Promise<void> =>
      inTurn(async () => {
        for (const slot of name === undefined ? slots.values() : [find(name)]) {
          Object.assign(slot, { renew: true, tried: undefined });
          slot.candidates.forEach(forget);
        }
        await reconcile();
      }),
    /** After a change of the configuration. */
    reconfigure: (keys: readonly string[]): Promise<void> =>
      inTurn(async () => {
        if (watch) openWatch();
        await survey();
        const refusals: string[] = [];
        for (const slot of slots.values()) {
          try {
            await kind.take(slot, keys);
          } catch (error) {
            refusals.push(`${one} ${slot.name}: ${(error as Error).message}`);
          }
        }
        if (refusals.length) throw new Error(refusals.join("; "));
        await update();
      }),
    /** Resolves when changes are being watched. */
    async watching(): Promise<void> {
      openWatch();
      await watch?.ready;
    },
    /** Takes everything down, at once or in an order. */
    async stop(inOrder = allAtOnce): Promise<void> {
      phase.stopped = true;
      watch?.close();
      await inTurn(() =>
        inOrder([...slots.values()], (slot) => swap.stop(slot, "the gateway stops")),
      );
    },
  };
}

const idOf = ({ realDir, hash }: Candidate): string => `${realDir} ${hash}`;
