/**
 * The hooks of a gateway: watched, listed, and steered by commands. Scans and commands run one after another.
 */
import { type RootWatch, watchRoots } from "../extensions/watch.ts";
import { PorticoError } from "../errors.ts";
import { createTurns } from "../timing/in-turn.ts";
import { formatKeyPath } from "../text/key-path.ts";
import { withoutSecrets } from "../log/redaction.ts";
import { loadVersion } from "./in-force/activation.ts";
import type { Candidate } from "./on-disk/candidate.ts";
import { type CheckReport, checkCandidate } from "./check.ts";
import { describe } from "./describe.ts";
import { createKeeper } from "./in-force/keeper.ts";
import type { HookLogLine, HookRecord } from "./record.ts";
import { type RunReport, type RunRequest, runOnce } from "./run-once.ts";
import { recordFailure } from "./in-force/runner.ts";
import type { HookHostOptions } from "./settings.ts";
import type { Slot } from "./in-force/slot.ts";

export function createHookHost(options: HookHostOptions) {
  const { bus, loader, log } = options;
  const keeper = createKeeper(options);
  const { slots, roots, settings, entry, phase } = keeper;
  let watch: RootWatch | undefined;
  let watched = "";
  const inTurn = createTurns();
  let waiting: { dirs: Set<string> | undefined; done: Promise<void> } | undefined;

  /** Brings everything in line with the disk; with `dirs`, only hooks that these directories belong to. */
  function rescan(dirs: readonly string[] = []): Promise<void> {
    if (waiting) {
      if (dirs.length === 0) waiting.dirs = undefined;
      else for (const dir of dirs) waiting.dirs?.add(dir);
      return waiting.done;
    }
    const next: { dirs: Set<string> | undefined; done: Promise<void> } = {
      dirs: dirs.length ? new Set(dirs) : undefined,
      done: inTurn(async () => {
        waiting = undefined;
        if (!phase.stopped) await keeper.scan(next.dirs);
      }),
    };
    waiting = next;
    return next.done;
  }

  function openWatch(): void {
    const dirs = roots().map((root) => root.dir);
    if (phase.stopped || watched === dirs.join("\n")) return;
    watched = dirs.join("\n");
    void watch?.close();
    watch = watchRoots({
      roots: dirs,
      log,
      onDirty: (dirty) => {
        rescan(dirty).catch((error: unknown) => log.error({ err: error }, "scanning the hooks failed"));
      },
    });
  }

  function find(name: string): Slot {
    const slot = slots.get(name);
    if (slot) return slot;
    throw new PorticoError("hook_not_found", `There is no hook ${name}: see \`portico hooks list\`.`, { status: 404 });
  }

  function describeSlot(slot: Slot): HookRecord[] {
    const specs = bus.specs();
    const ordered = [
      ...(slot.top ? [slot.top] : []),
      ...slot.claims.filter((claim) => claim !== slot.top),
      ...slot.doubles,
    ];
    return ordered.map((claim) =>
      describe(slot, claim, { specs, entry: entry(slot.name), hooksEnabled: settings().enabled }),
    );
  }

  function info(name: string): HookRecord {
    return describeSlot(find(name))[0] as HookRecord;
  }

  /** The claim that a command means: the one in force, else the highest. */
  function meant(slot: Slot): Candidate {
    return slot.top ?? (slot.claims[0] as Candidate);
  }

  /** Begins a run, on the version in force or on one that ends with it. The turn is over when it has begun. */
  async function beginRun(slot: Slot, request: RunRequest): Promise<{ report: Promise<RunReport> }> {
    const claim = meant(slot);
    const barred = slot.barred.get(claim);
    if (barred?.state === "refused" || barred?.state === "unapproved") {
      throw new PorticoError("conflict", `${slot.name} may not run: ${barred.reasons.join("; ")}.`);
    }
    const inForce = slot.active;
    const version = inForce ?? (await loadVersion(claim, loader));
    const report = runOnce({
      version,
      request,
      bus,
      log: slot.log,
      contextFor: (signal, to) => keeper.contextFor(slot, version, signal, to),
    });
    const done = Promise.allSettled([report]);
    version.inFlight.add(done);
    void done.then(() => version.inFlight.delete(done));
    return { report: inForce ? report : report.finally(() => keeper.endVersion(slot, version)) };
  }

  return {
    /** Loads all hooks; watching begins in the background, when the gateway has had time to answer. */
    async start(): Promise<void> {
      await rescan();
      phase.started = true;
      setTimeout(openWatch, 20).unref();
    },
    /** Resolves when changes are being watched. */
    async watching(): Promise<void> {
      openWatch();
      await watch?.ready;
    },
    rescan,
    /** After a change of the configuration. */
    async reconfigure(keys: readonly string[]): Promise<void> {
      // Also requirements on other sections (`requires.config`) may have changed.
      if (keys.some((key) => key === "hooks" || key.startsWith("hooks.")) && watch) openWatch();
      await rescan();
    },
    async stop(): Promise<void> {
      phase.stopped = true;
      await watch?.close();
      await inTurn(() => keeper.end());
    },

    roots,
    list: (): HookRecord[] => [...slots.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap(describeSlot),
    info,
    /** The lines are kept as they came: secrets go when they are shown, as they are at that moment. */
    logs: (name: string, count = 200): HookLogLine[] =>
      withoutSecrets(find(name).ring.lines().slice(-count), options.config.secrets()),
    /** Turns a hook on for good, and wakes one that rests. */
    async enable(name: string): Promise<HookRecord> {
      const slot = find(name);
      const on = entry(name).enabled ?? meant(slot).meta?.enabled ?? true;
      if (!on) await options.config.set(formatKeyPath(["hooks", "entries", name, "enabled"]), true);
      Object.assign(slot.health, { failuresInARow: 0, resting: false, blocked: false });
      slot.failedVersion = undefined;
      await rescan();
      return info(name);
    },
    async disable(name: string): Promise<HookRecord> {
      find(name);
      await options.config.set(formatKeyPath(["hooks", "entries", name, "enabled"]), false);
      await rescan();
      return info(name);
    },
    /** Lets a workspace hook run in exactly the content that is on disk now. */
    async approve(name: string): Promise<HookRecord> {
      const slot = find(name);
      const claim = slot.claims.find((one) => one.root.name === "workspace");
      if (!claim) {
        throw new PorticoError("invalid_request_error", `${name} is no workspace hook: only those need approval.`);
      }
      await keeper.approve(claim);
      await rescan();
      return info(name);
    },
    /** Loads a hook anew, also where its content is the same. */
    async reload(name?: string): Promise<HookRecord[]> {
      const slot = name === undefined ? undefined : find(name);
      await inTurn(async () => {
        for (const one of slot ? [slot] : slots.values()) {
          one.failedVersion = undefined;
          if (one.active) one.active.hash = "";
        }
      });
      await rescan();
      return name === undefined ? [...slots.values()].flatMap(describeSlot) : slots.has(name) ? [info(name)] : [];
    },
    async check(name: string): Promise<CheckReport> {
      const claim = await inTurn(async () => meant(find(name)));
      return checkCandidate(claim, loader, bus.specs());
    },
    /** Runs a hook against a sample, beside everything else: it counts for nothing and changes nothing but its own kv. */
    async run(name: string, request: RunRequest): Promise<RunReport> {
      const { report } = await inTurn(() => beginRun(find(name), request));
      return report;
    },
    /** An error of a timer or a detached promise of `hook:<name>`: counted and logged as that hook's failure. */
    strayError(owner: string, error: unknown): void {
      const slot = owner.startsWith("hook:") ? slots.get(owner.slice(5)) : undefined;
      if (slot?.active)
        recordFailure({ activation: slot.active, timeoutMs: 0, health: slot.health, bus, log: slot.log }, error);
    },
  };
}
export type HookHost = ReturnType<typeof createHookHost>;
