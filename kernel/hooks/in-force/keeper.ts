/**
 * Keeps the hooks that run in line with what is on disk: decides which directory is in force for each name, loads its
 * version off to the side, swaps it in within one tick, and takes off what is gone. What fails changes nothing.
 */
import { join } from "node:path";
import type { Dispose } from "../../types.ts";
import { type Activation, endActivation, loadVersion, UnsafeError, type Version, versionOnDisk } from "./activation.ts";
import { fingerprint, openApprovals } from "../on-disk/approval.ts";
import { type Candidate, findCandidates } from "../on-disk/candidate.ts";
import { createHandlerContext } from "./handler-context.ts";
import { createHookLogger, createRing } from "./hook-log.ts";
import { createMetaReader } from "../on-disk/meta-cache.ts";
import { type Problem, problemOf, sayProblem } from "../problem.ts";
import { missingRequirements } from "../on-disk/requirements.ts";
import { hookRoots } from "../on-disk/roots.ts";
import { createRunner, newHealth } from "./runner.ts";
import type { HookEntry, HookHostOptions, HookSurroundings } from "../settings.ts";
import { type Barred, groupByName, type Slot } from "./slot.ts";

/** A broken file is reported only when it still is broken after this: editors write in steps. */
const reportAfterMs = 100;

/** Nothing in here runs by itself: `scan` must not be called while another one runs. */
export function createKeeper(options: HookHostOptions) {
  const { bus, loader, log, paths, env } = options;
  const settings = () => options.config.kernel.hooks;
  const entry = (name: string): HookEntry => settings().entries[name] ?? {};
  const roots = () => hookRoots(paths, settings().extraDirs);
  const approvals = openApprovals(join(paths.state, "hook-approvals.json"));
  const readMeta = createMetaReader(join(paths.state, "cache", "hook-descriptors.json"));
  const slots = new Map<string, Slot>();
  /** A directory whose HOOK.md cannot be read keeps the name that it had. */
  const lastName = new Map<string, string>();
  const ending = new Set<Promise<void>>();
  /** `started`: what happens from now on is news, and logged. */
  const phase = { started: false, stopped: false };
  const around: HookSurroundings = {
    env,
    paths,
    services: options.services,
    emit: bus.emit,
    entry,
    lookup,
    secrets: () => options.config.secrets(),
  };

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
      deactivate(slot, "it is gone");
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
      if (await needsApproval(claim)) {
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
    const barred = top && whyBarred(slot.name, top);
    if (top && barred) slot.barred.set(top, barred);
    if (!top || barred) {
      slot.error = undefined;
      deactivate(slot, barred ? barred.reasons.join("; ") : "nothing of that name may run");
      return;
    }
    try {
      await makeCurrent(slot, top);
    } catch (thrown) {
      keepOld(slot, top, thrown);
    }
  }

  function whyBarred(name: string, claim: Candidate): Barred | undefined {
    if (claim.refused) return { state: "refused", reasons: [claim.refused] };
    if (!settings().enabled) return { state: "disabled", reasons: ["hooks.enabled is false in the configuration"] };
    if (!(entry(name).enabled ?? claim.meta?.enabled ?? true)) {
      return { state: "disabled", reasons: [`it is off: turn it on with \`portico hooks enable ${name}\``] };
    }
    if (!claim.meta) return undefined;
    const missing = missingRequirements(claim.meta, {
      platform: process.platform,
      env: { ...env, ...entry(name).env },
      lookup: around.lookup,
    });
    return missing.length ? { state: "ineligible", reasons: missing } : undefined;
  }

  async function needsApproval(claim: Candidate): Promise<boolean> {
    if (settings().trust !== "approved" || claim.root.name !== "workspace") return false;
    return !approvals.isApproved(claim.dir, await fingerprintOf(claim));
  }

  async function fingerprintOf(claim: Candidate): Promise<string> {
    const inputs =
      claim.problem || claim.refused
        ? []
        : await loader.compile(claim.handler as string).then(
            ({ inputs }) => inputs,
            () => [],
          );
    try {
      return fingerprint(
        claim.realDir,
        inputs.filter((input) => !input.startsWith(`${claim.realDir}/`)),
      );
    } catch {
      return ""; // it is changing under our hands
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
      if (registrationOf(slot.name, active.meta) !== active.registration) register(slot, active);
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
    if (phase.stopped || (await needsApproval(top))) return;
    activate(slot, version);
  }

  /** The swap: within one tick the new version's handlers are on the bus and the old one's are off. */
  function activate(slot: Slot, version: Version): void {
    const old = slot.active;
    const next: Activation = {
      ...version,
      generation: ++slot.generation,
      loadedAt: new Date().toISOString(),
      ended: new AbortController(),
      inFlight: new Set(),
      registration: "",
      unregister: [],
    };
    Object.assign(slot.health, { failuresInARow: 0, resting: false, blocked: false });
    slot.active = next;
    slot.error = undefined;
    slot.failedVersion = undefined;
    register(slot, next);
    if (old) void end(slot, old);
    const { dir } = next.candidate;
    for (const warning of next.candidate.warnings) slot.log.warn(`HOOK.md: ${warning}`);
    for (const event of next.meta.events) {
      if (phase.started && !bus.spec(event))
        slot.log.warn(`nobody emits ${event}: see \`portico hooks info ${slot.name}\``);
    }
    if (phase.started)
      slot.log.info({ generation: next.generation, dir, ms: Math.round(next.loadMs) }, old ? "reloaded" : "loaded");
  }

  function registrationOf(name: string, meta: Version["meta"]): string {
    return JSON.stringify([entry(name)["priority"] ?? meta.priority, entry(name)["timeoutMs"] ?? meta.timeoutMs]);
  }

  function register(slot: Slot, activation: Activation): void {
    activation.registration = registrationOf(slot.name, activation.meta);
    const [priority, timeoutMs] = JSON.parse(activation.registration) as [number, number];
    const undo = activation.unregister;
    const run = createRunner({
      activation,
      timeoutMs,
      health: slot.health,
      bus,
      log: slot.log,
      contextFor: (signal) => contextFor(slot, activation, signal),
    });
    const traced = activation.candidate.root.name !== "bundled";
    activation.unregister = activation.meta.events.map((event) =>
      bus.on(event as never, run as never, { priority, timeoutMs, owner: `hook:${slot.name}`, traced }),
    );
    takeOff(undo);
  }

  function contextFor(
    slot: Slot,
    version: Version & { ended?: AbortController },
    signal: AbortSignal,
    hookLog = slot.log,
  ) {
    const { realDir: dir } = version.candidate;
    const unloaded = version.ended?.signal ?? signal;
    return createHandlerContext({ name: slot.name, dir, meta: version.meta, log: hookLog, signal, unloaded, around });
  }

  function deactivate(slot: Slot, why: string): void {
    const { active } = slot;
    slot.active = undefined;
    slot.failedVersion = undefined;
    if (!active) return;
    takeOff(active.unregister);
    if (phase.started && !phase.stopped) slot.log.info(`no longer runs: ${why}`);
    void end(slot, active);
  }

  function takeOff(undo: readonly Dispose[]): void {
    for (const one of undo) void one();
  }

  function end(slot: Slot, activation: Activation): Promise<void> {
    takeOff(activation.unregister);
    const done = endActivation(activation).then((error) => {
      ending.delete(done);
      if (error) slot.log.error({ err: error }, `its clean-up failed: ${error.message}`);
    });
    ending.add(done);
    return done;
  }

  /** The new version does not load: what ran goes on where its own directory still is there, and the error shows. */
  function keepOld(slot: Slot, top: Candidate, thrown: unknown): void {
    if (thrown instanceof UnsafeError) {
      slot.barred.set(top, { state: "refused", reasons: [thrown.message] });
      deactivate(slot, thrown.message);
      return;
    }
    const problem = problemOf(thrown, top.realDir, top.handler);
    const before = slot.error;
    slot.error = problem;
    const still = slot.claims.some((claim) => claim.dir === slot.active?.candidate.dir);
    if (slot.active && !still) deactivate(slot, "it is gone");
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
    contextFor,
    /** Approves the content that a directory has now. */
    async approve(claim: Candidate): Promise<void> {
      approvals.approve(claim.dir, await fingerprintOf(claim));
    },
    /** Takes all hooks off and waits for their clean-up. */
    async end(): Promise<void> {
      for (const slot of slots.values()) deactivate(slot, "the gateway stops");
      await Promise.all([...ending]);
    },
  };
}
