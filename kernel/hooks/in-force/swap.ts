/** Puts versions in force and takes them off: within one tick, while running calls end on the old one. */
import type { Dispose } from "../../types.ts";
import type { HookHostOptions, HookSurroundings } from "../settings.ts";
import { type Activation, endVersion, type Version } from "./activation.ts";
import { createHandlerContext } from "./handler-context.ts";
import { createRunner } from "./runner.ts";
import type { Slot } from "./slot.ts";

/** `started`: what happens from now on is news, and logged. */
export interface Phase {
  started: boolean;
  stopped: boolean;
}

export function createSwap({ bus }: HookHostOptions, around: HookSurroundings, phase: Phase) {
  const { entry } = around;
  const ending = new Set<Promise<void>>();

  /** Within one tick the new version's handlers are on the bus and the old one's are off. */
  function activate(slot: Slot, version: Version): void {
    const old = slot.active;
    const next: Activation = {
      ...version,
      generation: ++slot.generation,
      loadedAt: new Date().toISOString(),
      registration: "",
      unregister: [],
    };
    Object.assign(slot.health, { failuresInARow: 0, resting: false, blocked: false });
    slot.active = next;
    slot.error = undefined;
    slot.failedVersion = undefined;
    register(slot, next);
    if (old) {
      takeOff(old.unregister);
      void end(slot, old);
    }
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

  function contextFor(slot: Slot, version: Version, signal: AbortSignal, hookLog = slot.log) {
    const { realDir: dir } = version.candidate;
    const unloaded = version.ended.signal;
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

  function end(slot: Slot, version: Version): Promise<void> {
    const done = endVersion(version).then((error) => {
      ending.delete(done);
      if (error) slot.log.error({ err: error }, `its clean-up failed: ${error.message}`);
    });
    ending.add(done);
    return done;
  }

  return {
    activate,
    deactivate,
    contextFor,
    /** Resolves when a version that is not in force has cleaned up. */
    end,
    /** Registers the version in force anew where its priority or deadline was configured otherwise. */
    reregister(slot: Slot, active: Activation): void {
      if (registrationOf(slot.name, active.meta) !== active.registration) register(slot, active);
    },
    /** Resolves when all that was ended has cleaned up. */
    ended: (): Promise<unknown> => Promise.all([...ending]),
  };
}
