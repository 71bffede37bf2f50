/** Reads and operates the extensions of all workers: of this process, and of the other workers if there are any. */
import {
  type Dispose,
  type GatewayState,
  type HookLogLine,
  type Management,
  PorticoError,
  type Workers,
} from "portico";
import { describeHook, type HookRecord } from "./hooks/record.ts";
import { disableHook, enableHook } from "./hooks/switch.ts";

const TOPIC = "management";
/** The timeout of an action in another worker. It is long because loading extensions may take long. */
const ACTION_MS = 60_000;

export interface WorkerStatus {
  /** Counted from 1. */
  worker: number;
  pid: number;
  uptimeMs: number;
  rssBytes: number;
  heapBytes: number;
  /** The processor time since the worker's start. */
  cpuMs: number;
  /** The number of responses since the worker's start. */
  requests: number;
  active: number;
  connections: ReturnType<GatewayState["connections"]>;
  servers: Record<string, string>;
  notReady: readonly { name: string; error: string }[];
  problem: ReturnType<Management["config"]["problem"]>;
  hooks: readonly HookStanding[];
}

/** The state of a hook in one worker. */
type HookStanding = Pick<HookRecord, "name" | "dir" | "state" | "error">;

/** A call that one worker makes in another. */
interface WorkerCall {
  call: string;
  args: readonly unknown[];
}

/** A hook's record in one worker. */
interface WorkerHook {
  worker: number;
  record: HookRecord;
}

type Action =
  | "hooks.enable"
  | "hooks.disable"
  | "hooks.approve"
  | "hooks.reload"
  | "hooks.rescan"
  | "plugins.reload"
  | "plugins.rescan";

export class AllWorkers {
  readonly #own: Management;
  readonly #workers: Workers | undefined;
  /** Reads that this process serves to itself and to other workers. */
  readonly #calls: Record<string, (...args: never[]) => unknown>;
  readonly #actions: Record<Action, (name: string) => Promise<unknown>>;

  constructor(own: Management, state: () => GatewayState, workers: Workers | undefined) {
    const { hooks, plugins } = own;
    const worker = (workers?.index ?? 0) + 1;
    this.#own = own;
    this.#workers = workers;
    this.#calls = {
      "hooks.list": () =>
        hooks.list().map((info) => ({ worker, record: describeHook(info, own.events()) })),
      "hooks.logs": (name: string, count: number) => hooks.logs(name, count),
      "log.recent": () => own.log.recent(),
      status: () => collectStatus(own, state(), worker),
    };
    this.#actions = {
      "hooks.enable": (name) => enableHook(own, name),
      "hooks.disable": (name) => disableHook(own, name),
      "hooks.approve": (name) => hooks.approve(name),
      "hooks.reload": (name?: string) => hooks.reload(name),
      "hooks.rescan": () => hooks.rescan(),
      "plugins.reload": (name) => plugins.reload(name),
      "plugins.rescan": () => plugins.rescan(),
    };
  }

  /** Answers calls of the other workers until the returned function is called. */
  serve(): Dispose {
    const undo = this.#workers?.on(TOPIC, ({ call, args }: WorkerCall) =>
      this.#callHere(call, args),
    );
    return undo ?? (() => {});
  }

  /** Runs an action here first, then in the other workers. Rejects with the first error. */
  async act(call: Action, ...args: unknown[]): Promise<void> {
    await this.#callHere(call, args);
    const others = (this.#workers?.ready() ?? []).filter((to) => to !== this.#workers?.index);
    for (const to of others) await this.#callWorker(to, { call, args });
  }

  async hooks(): Promise<HookRecord[]> {
    const [first = [], ...others] = await this.#callAll<WorkerHook[]>("hooks.list");
    const elsewhere = others.flat();
    const sameHookElsewhere = ({ name, dir }: HookRecord) =>
      elsewhere.filter(({ record }) => record.name === name && record.dir === dir);
    return first.map(({ record }) => sameHookElsewhere(record).reduce(mergeRecords, record));
  }

  async hook(name: string): Promise<HookRecord> {
    const own = describeHook(this.#own.hooks.info(name), this.#own.events());
    const all = await this.hooks();
    return all.find((record) => record.name === own.name && record.dir === own.dir) ?? own;
  }

  async hookLines(name: string, count: number): Promise<HookLogLine[]> {
    const lines = await this.#callAll<HookLogLine[]>("hooks.logs", name, count);
    return lines
      .flat()
      .sort(byTime(({ at }) => at))
      .slice(-count);
  }

  /** The last lines of the log as JSON, oldest first. */
  async lines(): Promise<string[]> {
    const lines = await this.#callAll<readonly string[]>("log.recent");
    if (lines.length === 1) return [...(lines[0] ?? [])];
    return lines.flat().sort(byTime((line) => /"time":"([^"]*)"/.exec(line)?.[1] ?? ""));
  }

  status(): Promise<WorkerStatus[]> {
    return this.#callAll<WorkerStatus>("status");
  }

  async #callHere(call: string, args: readonly unknown[]): Promise<unknown> {
    if (!Object.hasOwn(this.#actions, call)) return this.#calls[call]?.(...(args as never[]));
    // An action's result is dropped, because it may hold values that cannot be sent to another process.
    await this.#actions[call as Action](args[0] as string);
    return undefined;
  }

  async #callWorker(to: number, call: WorkerCall): Promise<void> {
    try {
      await this.#workers?.ask(to, TOPIC, call, ACTION_MS);
    } catch (error) {
      const { code, message, status } = error as PorticoError;
      throw new PorticoError(code, `worker ${to + 1}: ${message}`, { status });
    }
  }

  /** Returns the answers of all workers, this one's first. */
  async #callAll<T>(call: string, ...args: unknown[]): Promise<T[]> {
    const others = this.#workers?.askAll<T>(TOPIC, { call, args } satisfies WorkerCall);
    return [(await this.#callHere(call, args)) as T, ...((await others) ?? [])];
  }
}

function byTime<T>(time: (entry: T) => string) {
  return (a: T, b: T) => {
    if (time(a) === time(b)) return 0;
    return time(a) < time(b) ? -1 : 1;
  };
}

function collectStatus(own: Management, state: GatewayState, worker: number): WorkerStatus {
  const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    worker,
    pid: process.pid,
    uptimeMs: Date.now() - own.startedAt,
    rssBytes,
    cpuMs: Math.round((user + system) / 1000),
    heapBytes,
    requests: state.requests().reduce((sum, { count }) => sum + count, 0),
    active: state.active(),
    connections: state.connections(),
    servers: own.servers(),
    notReady: own.notReady(),
    problem: own.config.problem(),
    hooks: own.hooks
      .standings()
      .map(({ name, dir, state, error }) => ({ name, dir, state, error })),
  };
}

/** Returns the first worker's hooks, each with the error of another worker where that worker's state is worse. */
export function mergeHooks([first, ...others]: readonly WorkerStatus[]): HookStanding[] {
  return (first?.hooks ?? []).map((hook) => {
    for (const { worker, hooks } of others) {
      const counterpart = hooks.find(({ name, dir }) => name === hook.name && dir === hook.dir);
      if (counterpart) hook = { ...hook, ...worseState(hook, { worker, record: counterpart }) };
    }
    return hook;
  });
}

function worseState(
  shown: HookStanding,
  { worker, record }: { worker: number; record: HookStanding },
) {
  const isWorse =
    record.state !== shown.state && record.error !== undefined && shown.error === undefined;
  return isWorse ? { state: record.state, error: `worker ${worker}: ${record.error}` } : undefined;
}

/** Merges the records of a hook in two workers: adds the counts, and shows the worse state. */
function mergeRecords(
  merged: HookRecord,
  { worker, record }: { worker: number; record: HookRecord },
): HookRecord {
  const latest = <T extends { at: string }>(a: T | undefined, b: T | undefined) =>
    !a || (b && b.at > a.at) ? b : a;
  return {
    ...merged,
    ...worseState(merged, { worker, record }),
    runs: merged.runs + record.runs,
    failures: merged.failures + record.failures,
    failuresInARow: Math.max(merged.failuresInARow, record.failuresInARow),
    lastRun: latest(merged.lastRun, record.lastRun),
    lastError: latest(merged.lastError, record.lastError),
  };
}
