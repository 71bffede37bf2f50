/** The hooks of a gateway: the extension host with HOOK.md, listed and steered by commands. */
import { createEvent } from "../../bus.ts";
import type { HookLogLine, HookOnDisk, HookRecord, HookTrial, HookTrialEvent } from "../../contract/records.ts";
import { PorticoError } from "../../errors.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import type { Events, Logger } from "../../types.ts";
import { createExtensionHost } from "../host.ts";
import { tryOut } from "./calls/try-out.ts";
import { recordFailure } from "./calls/runner.ts";
import type { HookCandidate } from "./candidate.ts";
import { createHookKind } from "./kind.ts";
import { onDisk } from "./on-disk.ts";
import type { HookHostOptions } from "./settings.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook } from "./version.ts";

export function createHookHost(options: HookHostOptions) {
  const { bus, loader } = options;
  const hooks = createHookKind(options);
  const { permission } = hooks;
  const host = createExtensionHost(hooks.kind);
  const { slots, rescan, inTurn, find, info } = host;

  /** Begins a call, on the active version or on one that ends with it. The turn is over when it has begun. */
  async function beginTrial(
    slot: HookSlot,
    eventFor: (events: readonly string[]) => HookTrialEvent,
  ): Promise<{ trial: Promise<HookTrial> }> {
    const candidate = slot.top as HookCandidate;
    const reason = slot.disabled.get(candidate);
    if (reason?.state === "refused" || reason?.state === "unapproved") {
      throw new PorticoError("conflict", `${slot.name} may not run: ${reason.reasons.join("; ")}.`);
    }
    const active = slot.active?.version;
    const version = active ?? (await loadHook(candidate, loader));
    const end = () => endVersion(version).catch((err) => slot.log.error({ err }, "its clean-up failed"));
    const trial = beginCall(slot, version, eventFor);
    const done = Promise.allSettled([trial]);
    version.inFlight.add(done);
    void done.then(() => version.inFlight.delete(done));
    return { trial: active ? trial : trial.finally(end) };
  }

  async function beginCall(
    slot: HookSlot,
    version: HookVersion,
    eventFor: (events: readonly string[]) => HookTrialEvent,
  ): Promise<HookTrial> {
    const { name, context, sessionKey } = eventFor(version.meta.events);
    const event = createEvent(name as "hook:failed", context as unknown as Events["hook:failed"], { sessionKey });
    const contextFor = (signal: AbortSignal, log: Logger) => hooks.context(slot, version, signal, log);
    return tryOut(version, { event, spec: bus.spec(name), log: slot.log, contextFor });
  }

  return {
    prepare: host.prepare,
    /** Loads all hooks; watching begins in the background, when the gateway has had time to answer. */
    async start(): Promise<void> {
      await host.prepare();
      await host.start();
    },
    watching: host.watching,
    rescan,
    /** After a change of the configuration: requirements may be met now, or no more. */
    reconfigure: (keys: readonly string[]): Promise<void> => host.reconfigure(keys, async () => {}),
    stop: (): Promise<void> => host.stop(),
    roots: hooks.kind.roots,
    list: host.list,
    info,
    /** The lines are kept as they came: secrets go when they are shown, as they are at that moment. */
    logs: (name: string, count = 200): HookLogLine[] =>
      withoutSecrets(find(name).ring.lines().slice(-count), options.config.secrets()),
    /** Calls one that tripped again. */
    async wake(name: string): Promise<HookRecord> {
      const slot = find(name);
      Object.assign(slot.health, { failuresInARow: 0, tripped: false, blocked: false });
      slot.tried = undefined;
      await rescan();
      return info(name);
    },
    /** Lets a workspace hook run in exactly the content that is on disk now. */
    async approve(name: string): Promise<HookRecord> {
      const candidate = find(name).candidates.find((one) => one.root.name === "workspace");
      if (!candidate) {
        throw new PorticoError("invalid_request_error", `${name} is no workspace hook: only those need approval.`);
      }
      await permission.approve(candidate);
      await rescan();
      return info(name);
    },
    /** Loads a hook (or all) anew, also where its content is the same. */
    async reload(name?: string): Promise<HookRecord[]> {
      if (name !== undefined) find(name);
      await host.reload(name);
      return name === undefined ? host.list() : slots.has(name) ? [info(name)] : [];
    },
    async onDisk(name: string): Promise<HookOnDisk> {
      const { top } = await inTurn(async () => find(name));
      return onDisk(top as HookCandidate, { loader, specs: bus.specs(), permission });
    },
    /** Beside everything else: it counts for nothing and changes nothing but its own kv. */
    async tryOut(name: string, eventFor: (events: readonly string[]) => HookTrialEvent): Promise<HookTrial> {
      const { trial } = await inTurn(() => beginTrial(find(name), eventFor));
      return trial;
    },
    /** An error of a timer or a detached promise of `hook:<name>`: counted and logged as that hook's failure. */
    strayError(owner: string, error: unknown): void {
      const slot = owner.startsWith("hook:") ? slots.get(owner.slice(5)) : undefined;
      if (!slot?.active) return;
      const { version } = slot.active;
      recordFailure({ version, timeoutMs: 0, health: slot.health, bus, log: slot.log }, error);
    },
  };
}
export type HookHost = ReturnType<typeof createHookHost>;
