/** The hooks of a gateway: the extension host with HOOK.md, listed and steered by commands. */
import type {
  HookRecord,
  HookLogLine,
  HookRunRequest,
  HookRunReport,
  HookCheckReport,
} from "../../contract/management.ts";
import { PorticoError } from "../../errors.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import { formatKeyPath } from "../../text/key-path.ts";
import { createExtensionHost } from "../host.ts";
import { runOnce } from "./calls/run-once.ts";
import { recordFailure } from "./calls/runner.ts";
import type { HookCandidate } from "./candidate.ts";
import { checkCandidate } from "./check.ts";
import { createHookKind } from "./kind.ts";
import type { HookHostOptions } from "./settings.ts";
import { endVersion, type HookSlot, loadHook } from "./version.ts";

export function createHookHost(options: HookHostOptions) {
  const { bus, loader } = options;
  const hooks = createHookKind(options);
  const { permission } = hooks;
  const host = createExtensionHost(hooks.kind);
  const { slots, rescan, inTurn, find, info } = host;

  async function switchTo(name: string, on: boolean): Promise<HookRecord> {
    await options.config.set(formatKeyPath(["hooks", "entries", name, "enabled"]), on);
    await rescan();
    return info(name);
  }

  /** Begins a run, on the active version or on one that ends with it. The turn is over when it has begun. */
  async function beginRun(slot: HookSlot, request: HookRunRequest): Promise<{ report: Promise<HookRunReport> }> {
    const candidate = slot.top as HookCandidate;
    const reason = slot.disabled.get(candidate);
    if (reason?.state === "refused" || reason?.state === "unapproved") {
      throw new PorticoError("conflict", `${slot.name} may not run: ${reason.reasons.join("; ")}.`);
    }
    const active = slot.active?.version;
    const version = active ?? (await loadHook(candidate, loader));
    const report = runOnce({
      version,
      request,
      bus,
      log: slot.log,
      contextFor: (signal, to) => hooks.context(slot, version, signal, to),
    });
    const done = Promise.allSettled([report]);
    version.inFlight.add(done);
    void done.then(() => version.inFlight.delete(done));
    const end = () => endVersion(version).catch((err) => slot.log.error({ err }, "its clean-up failed"));
    return { report: active ? report : report.finally(end) };
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
    /** Turns a hook on for good, and wakes one that tripped. */
    async enable(name: string): Promise<HookRecord> {
      const slot = find(name);
      Object.assign(slot.health, { failuresInARow: 0, tripped: false, blocked: false });
      slot.tried = undefined;
      if (!permission.isOn(name, slot.top as HookCandidate)) return switchTo(name, true);
      await rescan();
      return info(name);
    },
    disable: (name: string): Promise<HookRecord> => switchTo(find(name).name, false),
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
    async check(name: string): Promise<HookCheckReport> {
      const { top } = await inTurn(async () => find(name));
      const candidate = top as HookCandidate;
      return checkCandidate(candidate, { loader, specs: bus.specs(), permission });
    },
    /** Runs a hook against a sample, beside everything else: it counts for nothing and changes nothing but its own kv. */
    async run(name: string, request: HookRunRequest): Promise<HookRunReport> {
      const { report } = await inTurn(() => beginRun(find(name), request));
      return report;
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
