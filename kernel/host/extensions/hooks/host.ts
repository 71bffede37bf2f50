/** The hooks of a gateway: the extension host with HOOK.md. How it is read, why it may not run, and what running means. */
import type { GivenEvent } from "../../bus.ts";
import { PorticoError } from "../../../errors.ts";
import { withoutSecrets } from "../../../log/redaction.ts";
import type { BusHandler, OnOptions } from "../../../contract/index.ts";
import { problemOf, sayProblem } from "../../../loader/problem.ts";
import { createExtensionHost } from "../host.ts";
import { listRoots } from "../roots.ts";
import { type HookLogLine, keepLines } from "../../../log/kept-lines.ts";
import { createRunner, recordFailure } from "./runner.ts";
import { type HookTrial, tryOut } from "./try-out.ts";
import { type HookCandidate, hookEntryNames, isGuarded } from "./candidate.ts";
import { readFiles, withEdition } from "./code.ts";
import { createPermission } from "./permission.ts";
import { describeHook, type HookInfo, hookStanding } from "./record.ts";
import type { HookHostOptions } from "./settings.ts";
import {
  endVersion,
  type HookSlot,
  type HookVersion,
  leave,
  loadHook,
  newHealth,
  untroubled,
} from "./version.ts";

type EventFor = (events: readonly string[]) => GivenEvent;

const refuser: { call: BusHandler } & OnOptions = {
  traced: false,
  settled() {},
  call() {
    throw new Error("it cannot be loaded");
  },
};

export function createHookHost(options: HookHostOptions) {
  const { bus, loader, log, paths, settings } = options;
  const permission = createPermission(options);
  const { limitsOf } = permission;
  const roots = () => listRoots("hooks", paths, settings());

  const host = createExtensionHost<HookVersion, HookSlot, HookInfo>({
    section: "hooks",
    entryNames: hookEntryNames,
    roots,
    log,
    agree: options.agree,
    slot: (name) => ({
      health: newHealth(),
      editions: [],
      ...keepLines(log.child({ hook: name })),
    }),
    read: permission.read,
    whyDisabled: ({ name }, candidate) => permission.whyDisabled(name, candidate),
    describe: (slot, candidate) => describeHook(slot, candidate, { permission, loader }),
    async load(candidate) {
      const [version, files] = await Promise.all([
        loadHook(candidate, loader),
        isGuarded(candidate) ? readFiles(candidate) : undefined,
      ]);
      return Object.assign(version, { files });
    },
    start(version, scope, slot, phase) {
      // It waits for running calls, and each of these has a deadline of its own.
      scope.add("version", () => endVersion(version));
      scope.stage("handlers", () => {
        Object.assign(slot.health, untroubled, { ignored: [] });
        keepEdition(slot, version);
        listen(slot, version);
        return () => (slot.listening?.version === version ? listen(slot) : undefined);
      });
      for (const warning of version.candidate.warnings) slot.log.warn(`HOOK.md: ${warning}`);
      // At a start, plugins have not declared their events yet.
      const events = phase.started ? version.meta.events.filter((event) => !isDeclared(event)) : [];
      for (const event of events)
        slot.log.warn(`nobody emits ${event}: see \`portico hooks info ${slot.name}\``);
    },
    take: (slot) => listen(slot),
    settled(slot) {
      slot.lastRole = slot.top?.meta ?? slot.lastRole ?? slot.top?.meant;
      listen(slot);
    },
  });
  const { slots, rescan, inTurn, find, info } = host;

  /** `command:*` by any of its kind. */
  function isDeclared(event: string): boolean {
    const all = event.endsWith(":*") ? [...bus.specs().keys()] : [];
    return bus.spec(event) !== undefined || all.some((name) => name.startsWith(event.slice(0, -1)));
  }

  /**
   * Puts on the bus what answers for a hook, with its limits as they are now: the version that runs, or, in the place of
   * one that has to judge its events and cannot be loaded, what refuses them. What was there goes within the same tick.
   */
  function listen(slot: HookSlot, version = slot.active?.version): void {
    const meta =
      version?.meta ?? (isMissing(slot) && slot.lastRole?.failClosed ? slot.lastRole : undefined);
    const { priority, timeoutMs } = limitsOf(slot.name, meta);
    const before = slot.listening;
    const isSame = before?.version === version && before?.meta === meta;
    if (isSame && (!before || (before.priority === priority && before.timeoutMs === timeoutMs)))
      return;
    const { call, ...told } = version
      ? createRunner({ slot, version, around: options, timeoutMs })
      : refuser;
    const how: OnOptions = {
      priority,
      timeoutMs,
      failClosed: meta?.failClosed,
      owner: `hook:${slot.name}`,
      ...told,
    };
    const undos = meta?.events.map((event) => bus.on(event as "hook:failed", call, how)) ?? [];
    const undo = () => undos.forEach((one) => void one());
    slot.listening = meta && { version, meta, priority, timeoutMs, undo };
    before?.undo();
  }

  /** Those of the package itself change with the package only. */
  function keepEdition(slot: HookSlot, { candidate, files }: HookVersion): void {
    if (files === undefined) return;
    const loadedAt = new Date().toISOString();
    slot.editions = withEdition(slot.editions, { hash: candidate.hash, loadedAt, files });
  }

  const isMissing = ({ top, active, error, disabled }: HookSlot) =>
    top !== undefined && !active && (error !== undefined || disabled.get(top)?.state === "refused");

  /** Begins a call by hand, on the active version or on one that ends with it. The turn is over when it has begun. */
  async function beginTrial(
    slot: HookSlot,
    eventFor: EventFor,
  ): Promise<{ trial: Promise<HookTrial> }> {
    const candidate = slot.top as HookCandidate;
    const { realDir, handler } = candidate;
    const refuse = (why: string) =>
      Promise.reject(new PorticoError("conflict", `${slot.name} ${why}.`));
    const broken = (err: unknown) =>
      refuse(`does not load: ${sayProblem(problemOf(err, realDir, handler), realDir)}`);
    const reason = slot.disabled.get(candidate);
    if (reason?.state === "refused" || reason?.state === "unapproved")
      return refuse(`may not run: ${reason.reasons.join("; ")}`);
    const active = slot.active?.version;
    const version = active ?? (await loadHook(candidate, loader).catch(broken));
    const call = async () => tryOut(version, eventFor(version.meta.events), options, slot.log);
    const end = () =>
      endVersion(version).catch((err) => slot.log.error({ err }, "its clean-up failed"));
    version.inFlight.push(call);
    const trial = call().finally(() => leave(version, call));
    return { trial: active ? trial : trial.finally(end) };
  }

  return {
    ...host,
    roots,
    /** What most ask for: `list` takes five times as long. */
    standings: () => host.each(hookStanding),
    /** The lines are kept as they came: secrets go when they are shown, as they are at that moment. */
    logs: (name: string, count = 200): HookLogLine[] =>
      withoutSecrets(find(name).lines.slice(-count), options.secrets()),
    /** Its files on disk, and those of the versions that were active; secrets of the gateway are masked. */
    async code(name: string) {
      const slot = find(name);
      const candidate = slot.top ?? slot.candidates[0];
      const files = candidate === undefined ? [] : await readFiles(candidate);
      return withoutSecrets({ files, versions: slot.editions }, options.secrets());
    },
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
        throw new PorticoError(
          "invalid_request_error",
          `${name} is no workspace hook: only those need approval.`,
        );
      await permission.approve(candidate);
      await rescan();
      return info(name);
    },
    /** Once what is being done is done. */
    look: (name: string): Promise<HookInfo> => inTurn(async () => info(name)),
    /** Beside everything else: it counts for nothing and changes nothing but its own kv. */
    async tryOut(name: string, eventFor: EventFor): Promise<HookTrial> {
      const { trial } = await inTurn(() => beginTrial(find(name), eventFor));
      return trial;
    },
    /** Counts and logs an error that nobody caught as the failure of `hook:<name>`. */
    strayError(owner: string, error: unknown): void {
      const slot = owner.startsWith("hook:") ? slots.get(owner.slice(5)) : undefined;
      if (slot?.active)
        recordFailure({ slot, version: slot.active.version, around: options }, error);
    },
  };
}
export type HookHost = ReturnType<typeof createHookHost>;
