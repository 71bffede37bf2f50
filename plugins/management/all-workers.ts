/** Shows and operates the extensions of all workers: of this process, and of the others where there are any. */
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
/** Loading extensions may take long. */
const ACTION_MS = 60_000;

export interface WorkerStatus {
  /** From 1. */
  worker: number;
  pid: number;
  uptimeMs: number;
  rssBytes: number;
  heapBytes: number;
  /** Processor time since its start. */
  cpuMs: number;
  /** Responses since its start. */
  requests: number;
  active: number;
  connections: ReturnType<GatewayState["connections"]>;
  servers: Record<string, string>;
  notReady: readonly { name: string; error: string }[];
  problem: ReturnType<Management["config"]["problem"]>;
  hooks: readonly HookStanding[];
}

/** The state of a hook in one directory. */
type HookStanding = Pick<HookRecord, "name" | "dir" | "state" | "error">;

/** A call that one worker makes in another. */
interface WorkerCall {
  call: string;
  args: readonly unknown[];
}

/** A record of one worker's hook. */
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

export class Everywhere {
  readonly #own: Management;
  readonly #workers: Workers | undefined;
  /** What this process answers to itself and to other workers. */
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
      status: () => statusOf(own, state(), worker),
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

  /** Answers the other workers, until the result is called. */
  answer(): Dispose {
    const undo = this.#workers?.on(TOPIC, ({ call, args }: WorkerCall) => this.#here(call, args));
    return undo ?? (() => {});
  }

  /** Acts here first, then in the others. Rejects with the error of the first that fails. */
  async act(call: Action, ...args: unknown[]): Promise<void> {
    await this.#here(call, args);
    const others = (this.#workers?.ready() ?? []).filter((to) => to !== this.#workers?.index);
    for (const to of others) await this.#actIn(to, { call, args });
  }

  async hooks(): Promise<HookRecord[]> {
    const [first = [], ...others] = await this.#all<WorkerHook[]>("hooks.list");
    const elsewhere = others.flat();
    const sameAs = ({ name, dir }: HookRecord) =>
      elsewhere.filter(({ record }) => record.name === name && record.dir === dir);
    return first.map(({ record }) => sameAs(record).reduce(together, record));
  }

  async hook(name: string): Promise<HookRecord> {
    const own = describeHook(this.#own.hooks.info(name), this.#own.events());
    const all = await this.hooks();
    return all.find((record) => record.name === own.name && record.dir === own.dir) ?? own;
  }

  async hookLines(name: string, count: number): Promise<HookLogLine[]> {
    const lines = await this.#all<HookLogLine[]>("hooks.logs", name, count);
    return lines
      .flat()
      .sort(byTime(({ at }) => at))
      .slice(-count);
  }

  /** The last lines of the log as JSON, oldest first. */
  async lines(): Promise<string[]> {
    const lines = await this.#all<readonly string[]>("log.recent");
    if (lines.length === 1) return [...(lines[0] ?? [])];
    return lines.flat().sort(byTime((line) => /"time":"([^"]*)"/.exec(line)?.[1] ?? ""));
  }

  status(): Promise<WorkerStatus[]> {
    return this.#all<WorkerStatus>("status");
  }

  async #here(call: string, args: readonly unknown[]): Promise<unknown> {
    if (!Object.hasOwn(this.#actions, call)) return this.#calls[call]?.(...(args as never[]));
    // The result of an action may hold what cannot leave its process.
    await this.#actions[call as Action](args[0] as string);
    return undefined;
  }

  async #actIn(to: number, call: WorkerCall): Promise<void> {
    try {
      await this.#workers?.ask(to, TOPIC, call, ACTION_MS);
    } catch (error) {
      const { code, message, status } = error as PorticoError;
      throw new PorticoError(code, `worker ${to + 1}: ${message}`, { status });
    }
  }

  /** The answers of all workers, this one's first. */
  async #all<T>(call: string, ...args: unknown[]): Promise<T[]> {
    const others = this.#workers?.askAll<T>(TOPIC, { call, args } satisfies WorkerCall);
    return [(await this.#here(call, args)) as T, ...((await others) ?? [])];
  }
}

function byTime<T>(time: (one: T) => string) {
  return (a: T, b: T) => {
    if (time(a) === time(b)) return 0;
    return time(a) < time(b) ? -1 : 1;
  };
}

function statusOf(own: Management, state: GatewayState, worker: number): WorkerStatus {
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

/** The hooks of one worker, and what is wrong with them in the others. */
export function hooksOf([first, ...others]: readonly WorkerStatus[]): HookStanding[] {
  return (first?.hooks ?? []).map((one) => {
    for (const { worker, hooks } of others) {
      const other = hooks.find(({ name, dir }) => name === one.name && dir === one.dir);
      if (other) one = { ...one, ...whatIsWorse(one, { worker, record: other }) };
    }
    return one;
  });
}

function whatIsWorse(
  one: HookStanding,
  { worker, record }: { worker: number; record: HookStanding },
) {
  const isWorse =
    record.state !== one.state && record.error !== undefined && one.error === undefined;
  return isWorse ? { state: record.state, error: `worker ${worker}: ${record.error}` } : undefined;
}

/** Counts are sums; where one worker does worse than the others, that is what shows. */
function together(
  one: HookRecord,
  { worker, record }: { worker: number; record: HookRecord },
): HookRecord {
  const latest = <T extends { at: string }>(a: T | undefined, b: T | undefined) =>
    !a || (b && b.at > a.at) ? b : a;
  return {
    ...one,
    ...whatIsWorse(one, { worker, record }),
    runs: one.runs + record.runs,
    failures: one.failures + record.failures,
    failuresInARow: Math.max(one.failuresInARow, record.failuresInARow),
    lastRun: latest(one.lastRun, record.lastRun),
    lastError: latest(one.lastError, record.lastError),
  };
}
