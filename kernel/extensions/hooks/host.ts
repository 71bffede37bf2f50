/** The hooks of a gateway: the extension host with HOOK.md. How it is read, why it may not run, and what running means. */
import type { GivenEvent } from "../../bus.ts";
import { PorticoError } from "../../errors.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import type { Dispose, Logger, OnOptions } from "../../types.ts";
import { createExtensionHost } from "../host.ts";
import { rootsOf } from "../roots.ts";
import { createHandlerContext } from "./calls/handler-context.ts";
import { createKeptLogger, createRing, type HookLogLine } from "../../log/kept-lines.ts";
import { createRunner, recordFailure } from "./calls/runner.ts";
import { type HookTrial, tryOut } from "./calls/try-out.ts";
import { type HookCandidate, hookEntryNames } from "./candidate.ts";
import type { HookMeta } from "./front-matter.ts";
import { createPermission } from "./permission.ts";
import { describeHook, type HookInfo } from "./record.ts";
import type { HookHostOptions } from "./settings.ts";
import { endVersion, type HookSlot, type HookVersion, leave, loadHook, newHealth, untroubled } from "./version.ts";

// Its clean-up waits for running calls, and each of these has a deadline of its own.
const undoMs = 2 ** 31 - 1;

export function createHookHost(options: HookHostOptions) {
  const { bus, loader, log, paths, settings } = options;
  const permission = createPermission(options);
  const { limitsOf } = permission;
  const roots = () => rootsOf("hooks", paths, settings());

  const host = createExtensionHost<HookVersion, HookSlot, HookInfo>({
    section: "hooks",
    entryNames: hookEntryNames,
    roots,
    log,
    agree: options.agree,
    undoMs,
    endsByItself: true,
    slot(name) {
      const ring = createRing();
      return { health: newHealth(), ring, log: createKeptLogger(log.child({ hook: name }), ring.add) };
    },
    read: permission.read,
    whyDisabled: ({ name }, candidate) => permission.whyDisabled(name, candidate),
    describe: (slot, candidate) => describeHook(slot, candidate, { permission, loader }),
    load: (candidate) => loadHook(candidate, loader),
    start(version, scope, slot, phase) {
      scope.add("version", () => endVersion(version));
      scope.stage("handlers", () => {
        Object.assign(slot.health, untroubled);
        register(slot, version);
        return () => version.registered?.undo();
      });
      for (const warning of version.candidate.warnings) slot.log.warn(`HOOK.md: ${warning}`);
      // At a start, plugins have not declared their events yet.
      const events = phase.started ? version.meta.events.filter((event) => !isDeclared(event)) : [];
      for (const event of events) slot.log.warn(`nobody emits ${event}: see \`portico hooks info ${slot.name}\``);
    },
    /** Registered anew where its priority or deadline was configured otherwise. */
    take(slot) {
      const { version } = slot.active ?? {};
      if (!version) return;
      const { priority, timeoutMs } = limitsOf(slot.name, version.meta);
      if (priority === version.registered?.priority && timeoutMs === version.registered.timeoutMs) return;
      const before = version.registered?.undo;
      register(slot, version);
      void before?.();
    },
    settled: refuseWhereMissing,
  });
  const { slots, rescan, inTurn, find, info } = host;

  /** `command:*` by any of its kind. */
  function isDeclared(event: string): boolean {
    const all = event.endsWith(":*") ? [...bus.specs().keys()] : [];
    return bus.spec(event) !== undefined || all.some((name) => name.startsWith(event.slice(0, -1)));
  }

  function register(slot: HookSlot, version: HookVersion): void {
    const limits = limitsOf(slot.name, version.meta);
    const { health, log: own } = slot;
    const contextFor = (signal: AbortSignal) => createHandlerContext(version, options, signal, own);
    const { call, settled } = createRunner({ version, ...limits, health, bus, log: own, contextFor });
    const traced = version.candidate.root.name !== "bundled";
    const undo = onEach(slot.name, version.meta, call, { ...limits, traced, settled });
    version.registered = { ...limits, undo };
  }

  function onEach(name: string, meta: HookMeta, call: Parameters<typeof bus.on>[1], how: OnOptions): Dispose {
    const all = { failClosed: meta.failClosed, owner: `hook:${name}`, ...how };
    const undos = meta.events.map((event) => bus.on(event as "hook:failed", call, all));
    return () => undos.forEach((undo) => void undo());
  }

  /** Puts up, or takes down, what refuses the events of a hook that has to judge them and cannot be loaded. */
  function refuseWhereMissing(slot: HookSlot): void {
    const { top, active, error, disabled, closed } = slot;
    const meta = (slot.lastMeta = top?.meta ?? slot.lastMeta);
    const isMissing = top !== undefined && !active && (error !== undefined || disabled.get(top)?.state === "refused");
    const wanted = isMissing && meta?.failClosed ? meta : undefined;
    if (closed?.meta === wanted) return;
    const fail = () => {
      throw new Error("it cannot be loaded");
    };
    const how = { ...limitsOf(slot.name, meta), traced: false, settled: () => {} };
    slot.closed = wanted && { meta: wanted, undo: onEach(slot.name, wanted, fail, how) };
    void closed?.undo();
  }

  /** Begins a call by hand, on the active version or on one that ends with it. The turn is over when it has begun. */
  async function beginTrial(
    slot: HookSlot,
    eventFor: (events: readonly string[]) => GivenEvent,
  ): Promise<{ trial: Promise<HookTrial> }> {
    const candidate = slot.top as HookCandidate;
    const reason = slot.disabled.get(candidate);
    if (reason?.state === "refused" || reason?.state === "unapproved")
      throw new PorticoError("conflict", `${slot.name} may not run: ${reason.reasons.join("; ")}.`);
    const active = slot.active?.version;
    const version = active ?? (await loadHook(candidate, loader));
    const contextFor = (signal: AbortSignal, to: Logger) => createHandlerContext(version, options, signal, to);
    const call = async () => {
      return tryOut(version, { event: eventFor(version.meta.events), bus, log: slot.log, contextFor });
    };
    const end = () => endVersion(version).catch((err) => slot.log.error({ err }, "its clean-up failed"));
    version.inFlight.add(call);
    const trial = call().finally(() => leave(version, call));
    return { trial: active ? trial : trial.finally(end) };
  }

  return {
    ...host,
    roots,
    /** The lines are kept as they came: secrets go when they are shown, as they are at that moment. */
    logs: (name: string, count = 200): HookLogLine[] =>
      withoutSecrets(find(name).ring.lines().slice(-count), options.secrets()),
    /** Calls one that tripped again. */
    async wake(name: string): Promise<HookInfo> {
      const slot = find(name);
      Object.assign(slot.health, untroubled);
      slot.tried = undefined;
      await rescan();
      return info(name);
    },
    /** Lets a workspace hook run in exactly the content that is on disk now. */
    async approve(name: string): Promise<HookInfo> {
      const candidate = find(name).candidates.find((one) => one.root.name === "workspace");
      if (!candidate)
        throw new PorticoError("invalid_request_error", `${name} is no workspace hook: only those need approval.`);
      await permission.approve(candidate);
      await rescan();
      return info(name);
    },
    /** Once what is being done is done. */
    look: (name: string): Promise<HookInfo> => inTurn(async () => info(name)),
    /** Beside everything else: it counts for nothing and changes nothing but its own kv. */
    async tryOut(name: string, eventFor: (events: readonly string[]) => GivenEvent): Promise<HookTrial> {
      const { trial } = await inTurn(() => beginTrial(find(name), eventFor));
      return trial;
    },
    /** An error of a timer or a detached promise of `hook:<name>`: counted and logged as that hook's failure. */
    strayError(owner: string, error: unknown): void {
      const slot = owner.startsWith("hook:") ? slots.get(owner.slice(5)) : undefined;
      if (!slot?.active) return;
      const { version } = slot.active;
      recordFailure({ version, health: slot.health, bus, log: slot.log }, error);
    },
  };
}
export type HookHost = ReturnType<typeof createHookHost>;
