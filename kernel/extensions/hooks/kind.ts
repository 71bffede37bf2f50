/** A hook is an extension with a HOOK.md: how it is read, why it may not run, and what running means. */
import type { HookRecord } from "../../contract/records.ts";
import type { Dispose } from "../../types.ts";
import type { Kind } from "../host.ts";
import { rootsOf } from "../roots.ts";
import { createHandlerContext } from "./calls/handler-context.ts";
import { newHealth } from "./calls/health.ts";
import { createHookLogger, createRing } from "./calls/hook-log.ts";
import { createRunner } from "./calls/runner.ts";
import { type HookCandidate, hookEntryNames } from "./candidate.ts";
import { createPermission } from "./permission.ts";
import type { HookMeta } from "./front-matter.ts";
import { describeEvent } from "./calls/describe-event.ts";
import { describeHook } from "./record.ts";
import type { HookEntry, HookHostOptions, HookSurroundings } from "./settings.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook, type Registration } from "./version.ts";

// Its clean-up waits for running calls, and each of these has a deadline of its own.
const undoMs = 2 ** 31 - 1;

export function createHookKind(options: HookHostOptions) {
  const { bus, loader, log, paths, env } = options;
  const settings = () => options.config.kernel.hooks;
  const entry = (name: string): HookEntry => settings().entries[name] ?? {};
  const permission = createPermission({ paths, env, loader, settings, lookup });
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

  function lookup(key: string): unknown {
    try {
      return options.config.get(key);
    } catch {
      return undefined; // what a hook names need not be a key
    }
  }

  function register(slot: HookSlot, version: HookVersion): Registration {
    const { meta, candidate } = version;
    const { priority, timeoutMs } = limitsOf(slot.name, meta);
    const contextFor = (signal: AbortSignal) => context(slot, version, signal);
    const run = createRunner({ version, timeoutMs, health: slot.health, bus, log: slot.log, contextFor });
    const { failClosed } = meta;
    const how = {
      priority,
      timeoutMs,
      failClosed,
      owner: `hook:${slot.name}`,
      traced: candidate.root.name !== "bundled",
    };
    return { priority, timeoutMs, undo: meta.events.map((event) => bus.on(event as "hook:failed", run, how)) };
  }

  function limitsOf(name: string, meta: { priority: number; timeoutMs: number }) {
    const { priority = meta.priority, timeoutMs = meta.timeoutMs } = entry(name);
    return { priority, timeoutMs };
  }

  function context(slot: HookSlot, version: HookVersion, signal: AbortSignal, hookLog = slot.log) {
    const { meta, candidate, ended } = version;
    const dir = candidate.realDir;
    return createHandlerContext({ name: slot.name, dir, meta, log: hookLog, signal, unloaded: ended.signal, around });
  }

  /** Puts up, or takes down, what refuses the events of a hook that has to judge them and cannot be loaded. */
  function settled(slot: HookSlot): void {
    const { top, active, error, disabled } = slot;
    slot.lastMeta = top?.meta ?? slot.lastMeta;
    const meta = slot.lastMeta;
    const isMissing = top !== undefined && !active && (error !== undefined || disabled.get(top)?.state === "refused");
    const wanted = isMissing && meta?.failClosed ? meta : undefined;
    if (slot.closed?.meta === wanted) return;
    const before = slot.closed?.undo ?? [];
    slot.closed = wanted && { meta: wanted, undo: refuse(slot.name, wanted) };
    takeOff(before);
  }

  function refuse(name: string, meta: HookMeta): Dispose[] {
    const how = { priority: limitsOf(name, meta).priority, owner: `hook:${name}`, failClosed: true, traced: false };
    const fail = () => {
      throw new Error("it cannot be loaded");
    };
    return meta.events.map((event) => bus.on(event as "hook:failed", fail, how));
  }

  const kind: Kind<HookCandidate, HookVersion, Registration, HookSlot, HookRecord> = {
    section: "hooks",
    entryNames: hookEntryNames,
    roots: () => rootsOf("hooks", paths, settings()),
    log,
    undoMs,
    slot(name) {
      const ring = createRing();
      const own = createHookLogger(log.child({ hook: name }), ring.add);
      const health = newHealth();
      return { name, candidates: [], duplicates: [], disabled: new Map(), generation: 0, health, ring, log: own };
    },
    read: permission.read,
    whyDisabled: ({ name }, candidate) => permission.whyDisabled(name, candidate),
    settled,
    describe(slot, candidate) {
      const enabled = settings().enabled && permission.isOn(slot.name, candidate);
      const limits = limitsOf(slot.name, candidate.meta ?? { priority: 0, timeoutMs: 5000 });
      return describeHook(slot, candidate, bus.specs(), { enabled, ...limits });
    },
    load: (candidate) => loadHook(candidate, loader),
    start(version, scope, given, phase) {
      const slot = given as HookSlot;
      Object.assign(slot.health, { failuresInARow: 0, tripped: false, blocked: false });
      const registration = register(slot, version);
      scope.add("version", () => endVersion(version));
      scope.add("handlers", () => takeOff(registration.undo));
      for (const warning of version.candidate.warnings) slot.log.warn(`HOOK.md: ${warning}`);
      // At a start, plugins have not declared their events yet.
      const unknown = phase.started
        ? version.meta.events.filter((event) => !describeEvent(event, bus.specs()).known)
        : [];
      for (const event of unknown) slot.log.warn(`nobody emits ${event}: see \`portico hooks info ${slot.name}\``);
      return registration;
    },
    /** Registered anew where its priority or deadline was configured otherwise. */
    isCurrent(slot) {
      const { active } = slot;
      if (!active) return;
      const { version, running } = active;
      const { priority, timeoutMs } = limitsOf(slot.name, version.meta);
      if (priority === running.priority && timeoutMs === running.timeoutMs) return;
      const before = running.undo;
      Object.assign(running, register(slot, version));
      takeOff(before);
    },
  };

  return { kind, settings, permission, context, limitsOf };
}

function takeOff(undo: readonly Dispose[]): void {
  for (const one of undo) void one();
}
