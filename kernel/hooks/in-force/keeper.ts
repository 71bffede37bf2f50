/**
 * Keeps the hooks that run in line with what is on disk: decides which directory is in force for each name, loads its
 * version off to the side, swaps it in within one tick, and takes off what is gone. What fails changes nothing.
 */
import { join } from "node:path";
import { UnsafeError } from "../../extensions/safety.ts";
import { type Candidate, findCandidates } from "../on-disk/candidate.ts";
import { createMetaReader } from "../on-disk/meta-cache.ts";
import { hookRoots } from "../on-disk/roots.ts";
import { type Problem, problemOf, sayProblem } from "../problem.ts";
import type { HookEntry, HookHostOptions, HookSurroundings } from "../settings.ts";
import { loadVersion, type Version, versionOnDisk } from "./activation.ts";
import { createBars } from "./bars.ts";
import { createHookLogger, createRing } from "./hook-log.ts";
import { newHealth } from "./runner.ts";
import { groupByName, type Slot } from "./slot.ts";
import { createSwap, type Phase } from "./swap.ts";

/** A broken file is reported only when it still is broken after this: editors write in steps. */
const reportAfterMs = 100;

/** Nothing in here runs by itself: `scan` must not be called while another one runs. */
export function createKeeper(options: HookHostOptions) {
  const { bus, loader, log, paths, env } = options;
  const settings = () => options.config.kernel.hooks;
  const entry = (name: string): HookEntry => settings().entries[name] ?? {};
  const roots = () => hookRoots(paths, settings().extraDirs);
  const readMeta = createMetaReader(join(paths.state, "cache", "hook-descriptors.json"));
  const slots = new Map<string, Slot>();
  /** A directory whose HOOK.md cannot be read keeps the name that it had. */
  const lastName = new Map<string, string>();
  const phase: Phase = { started: false, stopped: false };
  const around: HookSurroundings = {
    env,
    paths,
    members: options.members,
    memberNames: options.memberNames,
    emit: bus.emit,
    entry,
    lookup,
    secrets: () => options.config.secrets(),
  };
  const bars = createBars(options, around);
  const swap = createSwap(options, around, phase);

  function lookup(key: string): unknown {
    try {
      return options.config.get(key);
    } catch {
      return undefined; // what a hook names need not be a key
    }
  }

  async function scan(dirs: ReadonlySet<string> | undefined): Promise<void> {
    const candidates = await findCandidates(roots(), readMeta);
    for (const candidate of candidates) {
      if (candidate.meta) lastName.set(candidate.dir, candidate.name);
      else candidate.name = lastName.get(candidate.dir) ?? candidate.name;
    }
    const groups = groupByName(candidates);
    const affected: Slot[] = [];
    for (const [name, group] of groups) {
      const slot = slots.get(name) ?? newSlot(name);
      slots.set(name, slot);
      const before = slot.claims.map((claim) => claim.dir + claim.text).join();
      Object.assign(slot, group);
      const moved = before !== slot.claims.map((claim) => claim.dir + claim.text).join();
      if (!dirs || moved || touches(slot, dirs)) affected.push(slot);
      // The records must not show claims of an earlier scan.
      else slot.top = slot.claims.find((claim) => claim.dir === slot.top?.dir);
    }
    const gone = [...slots.values()].filter((slot) => !groups.has(slot.name));
    await Promise.all(affected.map(settle));
    // Only now: a hook that was renamed is never without a version that runs, nor that one without its record.
    for (const slot of gone) {
      slots.delete(slot.name);
      swap.deactivate(slot, "it is gone");
    }
  }

  function touches(slot: Slot, dirs: ReadonlySet<string>): boolean {
    if ([...slot.claims, ...slot.doubles].some((claim) => dirs.has(claim.dir))) return true;
    const inputs = slot.active?.inputs ?? [];
    return inputs.some((input) => [...dirs].some((dir) => input === dir || input.startsWith(`${dir}/`)));
  }

  function newSlot(name: string): Slot {
    const ring = createRing();
    return {
      name,
      claims: [],
      doubles: [],
      barred: new Map(),
      generation: 0,
      health: newHealth(),
      ring,
      log: createHookLogger(log.child({ hook: name }), ring.add),
    };
  }

  /** Decides which claim is in force and makes it run in the version that is on disk. */
  async function settle(slot: Slot): Promise<void> {
    const topBefore = slot.top?.dir;
    slot.barred = new Map();
    slot.top = undefined;
    for (const claim of slot.claims) {
      if (await bars.needsApproval(claim)) {
        slot.barred.set(claim, {
          state: "unapproved",
          reasons: [`its content is not approved: look at it, then run \`portico hooks approve ${slot.name}\``],
        });
      } else {
        slot.top = claim;
        break;
      }
    }
    const { top } = slot;
    const below = top && slot.claims.find((claim) => claim.root.rank < top.root.rank);
    if (top && below && top.dir !== topBefore) slot.log.info(`${top.dir} replaces ${below.dir}`);
    const barred = top && bars.whyBarred(slot.name, top);
    if (top && barred) slot.barred.set(top, barred);
    if (!top || barred) {
      slot.error = undefined;
      swap.deactivate(slot, barred ? barred.reasons.join("; ") : "nothing of that name may run");
      return;
    }
    try {
      await makeCurrent(slot, top);
    } catch (thrown) {
      keepOld(slot, top, thrown);
    }
  }

  async function makeCurrent(slot: Slot, top: Candidate): Promise<void> {
    const { active } = slot;
    const { hash } = await versionOnDisk(top, loader);
    const id = `${top.realDir} ${hash}`;
    if (active && active.candidate.realDir === top.realDir && active.hash === hash) {
      slot.error = undefined;
      slot.failedVersion = undefined;
      active.candidate = top;
      swap.reregister(slot, active);
      return;
    }
    if (slot.failedVersion === id) return;
    let version: Version;
    try {
      version = await loadVersion(top, loader);
    } catch (thrown) {
      const code = (thrown as { cause?: { code?: unknown } }).cause?.code;
      // A missing package may be installed any moment; everything else is as it is until the content changes.
      if (code !== "MODULE_NOT_FOUND") slot.failedVersion = id;
      throw thrown;
    }
    if (phase.stopped || (await bars.needsApproval(top))) return void swap.end(slot, version);
    swap.activate(slot, version);
  }

  /** The new version does not load: what ran goes on where its own directory still is there, and the error shows. */
  function keepOld(slot: Slot, top: Candidate, thrown: unknown): void {
    if (thrown instanceof UnsafeError) {
      slot.barred.set(top, { state: "refused", reasons: [thrown.message] });
      swap.deactivate(slot, thrown.message);
      return;
    }
    const problem = problemOf(thrown, top.realDir, top.handler);
    const before = slot.error;
    slot.error = problem;
    const still = slot.claims.some((claim) => claim.dir === slot.active?.candidate.dir);
    if (slot.active && !still) swap.deactivate(slot, "it is gone");
    if (before?.message === problem.message && before.line === problem.line) {
      slot.error = before;
      return;
    }
    const tell = () => {
      if (slot.error === problem && !phase.stopped) slot.log.error({ ...problem }, describeFailure(slot, top, problem));
    };
    if (phase.started) setTimeout(tell, reportAfterMs).unref();
    else tell();
  }

  function describeFailure(slot: Slot, top: Candidate, problem: Problem): string {
    const below = slot.claims.find((claim) => claim.root.rank < top.root.rank);
    const consequence = slot.active
      ? `generation ${slot.active.generation} from ${slot.active.candidate.dir} keeps running`
      : below
        ? `it shadows ${below.dir}, which does not run either`
        : "it does not run";
    return `does not load: ${sayProblem(problem, top.realDir)}; ${consequence}`;
  }

  return {
    slots,
    roots,
    settings,
    entry,
    phase,
    scan,
    contextFor: swap.contextFor,
    endVersion: swap.end,
    approve: bars.approve,
    /** Takes all hooks off and waits for their clean-up. */
    async end(): Promise<void> {
      for (const slot of slots.values()) swap.deactivate(slot, "the gateway stops");
      await swap.ended();
    },
  };
}
