/** The hooks of a gateway: reads them, decides whether they may run, and registers them on the bus. */
import type { UntypedEvent } from "../../bus.ts";
import { withoutSecrets } from "../../../log/redaction.ts";
import type { BusHandler, Logger, OnOptions } from "../../../contract/index.ts";
import { toProblem, formatProblem } from "../../../loader/problem.ts";
import { advance } from "../attempt.ts";
import { ExtensionHost } from "../host.ts";
import type { Kind, Phase } from "../kind.ts";
import type { ExtensionDirectory } from "../discover.ts";
import { listRoots, type Root } from "../roots.ts";
import type { DisabledReason } from "../slot.ts";
import { type HookLogLine, keepLines } from "../../../log/kept-lines.ts";
import { createRunner, recordFailure } from "./runner.ts";
import { type HookTrial, tryOut } from "./try-out.ts";
import { type HookCandidate, hookEntryNames, isGuarded } from "./candidate.ts";
import { readFiles, addEdition } from "./code.ts";
import { errors } from "../errors.ts";
import { createPermission, type Permission } from "./permission.ts";
import { describeHook, type HookInfo, hookStanding } from "./record.ts";
import type { HookHostOptions } from "./settings.ts";
import type { Scope } from "../../../timing/scope.ts";
import {
  endVersion,
  type HookSlot,
  type HookVersion,
  endCall,
  loadHook,
  createHealth,
  initialHealth,
} from "./version.ts";

/** Creates the event for a manual call, given the events that the hook handles. */
type EventFor = (events: readonly string[]) => UntypedEvent;

/** The handler for a `failClosed` hook that cannot be loaded: it refuses every event. */
const refusingHandler: { call: BusHandler } & OnOptions = {
  traced: false,
  settled() {},
  call() {
    throw new Error("it cannot be loaded");
  },
};

class HookKind implements Kind<HookVersion, HookSlot, HookInfo> {
  readonly section = "hooks";
  readonly entryNames = hookEntryNames;
  readonly log: Logger;
  readonly agree: HookHostOptions["agree"];
  readonly #options: HookHostOptions;
  readonly #permission: Permission;

  constructor(options: HookHostOptions, permission: Permission) {
    this.log = options.log;
    this.agree = options.agree;
    this.#options = options;
    this.#permission = permission;
  }

  roots(): readonly Root[] {
    return listRoots("hooks", this.#options.paths, this.#options.settings());
  }

  slot(name: string) {
    return {
      health: createHealth(),
      editions: [],
      ...keepLines(this.log.child({ hook: name })),
    };
  }

  read(directory: ExtensionDirectory): Promise<HookCandidate> {
    return this.#permission.read(directory);
  }

  whyDisabled({ name }: HookSlot, candidate: HookCandidate): DisabledReason | undefined {
    return this.#permission.whyDisabled(name, candidate);
  }

  describe(slot: HookSlot, candidate: HookCandidate): HookInfo {
    const { loader } = this.#options;
    return describeHook(slot, candidate, { permission: this.#permission, loader });
  }

  async load(candidate: HookCandidate): Promise<HookVersion> {
    // This is not awaited, because a version must take effect as soon as it is loaded.
    const files = isGuarded(candidate) ? readFiles(candidate) : undefined;
    return Object.assign(await loadHook(candidate, this.#options.loader), { files });
  }

  start(version: HookVersion, scope: Scope, slot: HookSlot, { started }: Phase): void {
    // This undo has no time limit: it waits for running calls, each of which has its own deadline.
    scope.add("version", () => endVersion(version));
    scope.stage("handlers", () => {
      Object.assign(slot.health, initialHealth, { ignored: [] });
      void keepEdition(slot, version);
      this.#listen(slot, version);
      return () => (slot.registration?.version === version ? this.#listen(slot) : undefined);
    });
    for (const warning of version.candidate.warnings) slot.log.warn(`HOOK.md: ${warning}`);
    // During the start of the gateway, plugins have not declared their events yet.
    if (started) this.#warnOfUnknownEvents(version, slot);
  }

  reconfigure(slot: HookSlot): void {
    this.#listen(slot);
  }

  onSettled(slot: HookSlot): void {
    slot.lastRole = slot.top?.meta ?? slot.lastRole ?? slot.top?.guessedRole;
    this.#listen(slot);
  }

  #warnOfUnknownEvents({ meta }: HookVersion, { log, name }: HookSlot): void {
    for (const event of meta.events)
      if (!this.#isDeclared(event))
        log.warn(`no plugin emits ${event}: see \`portico hooks info ${name}\``);
  }

  /** Whether an event is declared. `command:*` is declared if any command is. */
  #isDeclared(event: string): boolean {
    const { bus } = this.#options;
    if (bus.spec(event) !== undefined) return true;
    return event.endsWith(":*") && [...bus.specs().keys()].some(isOfKind(event.slice(0, -1)));
  }

  /**
   * Registers the handler of a hook on the bus, with its current limits: that of the active version, or a refusal for a
   * `failClosed` hook that cannot be loaded. The previous handler is removed within the same tick.
   */
  #listen(slot: HookSlot, version = slot.active?.version): void {
    const meta = version?.meta ?? roleToRefuse(slot);
    const { priority, timeoutMs } = this.#permission.limitsOf(slot.name, meta);
    const previous = slot.registration;
    if (isUnchanged(previous, { version, meta, priority, timeoutMs })) return;
    const { call, ...callOptions } = version
      ? createRunner({ slot, version, host: this.#options, timeoutMs })
      : refusingHandler;
    const registration: OnOptions = {
      priority,
      timeoutMs,
      failClosed: meta?.failClosed,
      owner: `hook:${slot.name}`,
      ...callOptions,
    };
    const { bus } = this.#options;
    const undos = (meta?.events ?? []).map((event) =>
      bus.on(event as "hook:failed", call, registration),
    );
    const undo = () => undos.forEach((off) => void off());
    slot.registration = meta && { version, meta, priority, timeoutMs, undo };
    previous?.undo();
  }
}

const isOfKind = (prefix: string) => (name: string) => name.startsWith(prefix);

type Registration = NonNullable<HookSlot["registration"]>;

function isUnchanged(
  previous: Registration | undefined,
  current: Partial<Omit<Registration, "undo">>,
): boolean {
  if (previous?.version !== current.version || previous?.meta !== current.meta) return false;
  return (
    !previous ||
    (previous.priority === current.priority && previous.timeoutMs === current.timeoutMs)
  );
}

/** Returns the last known role of a `failClosed` hook that cannot be loaded. */
function roleToRefuse(slot: HookSlot): HookSlot["lastRole"] {
  const { top, active, attempt, disabled, lastRole } = slot;
  if (!lastRole?.failClosed || top === undefined || active) return undefined;
  const isMissing = attempt.problem !== undefined || disabled.get(top)?.state === "refused";
  return isMissing ? lastRole : undefined;
}

/** Keeps the files of a user's hook. Those of the package change only with the package. */
async function keepEdition(slot: HookSlot, version: HookVersion): Promise<void> {
  if (version.files === undefined) return;
  const loadedAt = new Date().toISOString();
  const files = await version.files;
  slot.editions = addEdition(slot.editions, { hash: version.candidate.hash, loadedAt, files });
}

export class HookHost extends ExtensionHost<HookVersion, HookSlot, HookInfo> {
  readonly #options: HookHostOptions;
  readonly #permission: Permission;
  readonly #kind: HookKind;

  constructor(options: HookHostOptions) {
    const permission = createPermission(options);
    const kind = new HookKind(options, permission);
    super(kind);
    this.#options = options;
    this.#permission = permission;
    this.#kind = kind;
  }

  roots(): readonly Root[] {
    return this.#kind.roots();
  }

  /** Returns the state of each hook. `list` returns more and takes five times as long. */
  standings() {
    return this.mapCandidates(hookStanding);
  }

  /** Returns the last lines of a hook's log. Secrets are masked when lines are read, because secrets may change. */
  logs(name: string, count = 200): HookLogLine[] {
    return withoutSecrets(this.find(name).lines.slice(-count), this.#options.secrets());
  }

  /** Returns the files of a hook on disk, and those of its earlier versions; secrets of the gateway are masked. */
  async code(name: string) {
    const slot = this.find(name);
    const candidate = slot.top ?? slot.candidates[0];
    const files = candidate === undefined ? [] : await readFiles(candidate);
    // The newest version is stored once its files are read.
    await slot.active?.version.files;
    return withoutSecrets({ files, versions: slot.editions }, this.#options.secrets());
  }

  /** Resets a hook that is tripped, so that it is called again. */
  async wake(name: string): Promise<HookInfo> {
    const slot = this.find(name);
    Object.assign(slot.health, initialHealth);
    advance(slot, "retry");
    await this.rescan();
    return this.info(name);
  }

  /** Approves a workspace hook with exactly the content that is on disk now. */
  async approve(name: string): Promise<HookInfo> {
    const candidate = this.find(name).candidates.find(({ root }) => root.name === "workspace");
    if (!candidate) throw errors.needsNoApproval({ name });
    await this.#permission.approve(candidate);
    await this.rescan();
    return this.info(name);
  }

  /** Describes the hook after the changes in progress are finished. */
  look(name: string): Promise<HookInfo> {
    return this.inTurn(async () => this.info(name));
  }

  /** Calls a hook manually. The call is not counted, and changes nothing but the hook's own kv. */
  async tryOut(name: string, eventFor: EventFor): Promise<HookTrial> {
    const { trial } = await this.inTurn(() => this.#beginTrial(this.find(name), eventFor));
    return trial;
  }

  /** Counts and logs an uncaught error as the failure of `hook:<name>`. */
  strayError(owner: string, error: unknown): void {
    const slot = owner.startsWith("hook:") ? this.slots.get(owner.slice(5)) : undefined;
    if (!slot?.active) return;
    recordFailure({ slot, version: slot.active.version, host: this.#options }, error);
  }

  /** Begins a manual call, so that other changes need not wait for its end. */
  async #beginTrial(slot: HookSlot, eventFor: EventFor): Promise<{ trial: Promise<HookTrial> }> {
    const active = slot.active?.version;
    const version = active ?? (await this.#loadForTrial(slot));
    const call = async () =>
      tryOut(version, eventFor(version.meta.events), this.#options, slot.log);
    const end = () =>
      endVersion(version).catch((err) => slot.log.error({ err }, "its clean-up failed"));
    version.inFlight.push(call);
    const trial = call().finally(() => endCall(version, call));
    return { trial: active ? trial : trial.finally(end) };
  }

  /** Loads a version for one call if no version runs. */
  async #loadForTrial({ name, top, disabled }: HookSlot): Promise<HookVersion> {
    const candidate = top as HookCandidate;
    refuseUnsafe(name, disabled.get(candidate));
    try {
      return await loadHook(candidate, this.#options.loader);
    } catch (thrown) {
      const { realDir, handler } = candidate;
      const problem = formatProblem(toProblem(thrown, realDir, handler), realDir);
      throw errors.doesNotLoad({ name, problem });
    }
  }
}

function refuseUnsafe(name: string, reason: DisabledReason | undefined): void {
  if (reason?.state !== "refused" && reason?.state !== "unapproved") return;
  throw errors.mayNotRun({ name, reasons: reason.reasons.join("; ") });
}
