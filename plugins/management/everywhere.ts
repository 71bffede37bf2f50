/** What is shown and steered counts for all workers: here it is asked of this process, and of the others where there are any. */
import {
  type Dispose,
  type GatewayState,
  type Management,
  PorticoError,
  type Workers,
} from "portico";
import { describeHook, type HookRecord } from "./hooks/record.ts";
import { disableHook, enableHook } from "./hooks/switch.ts";

const TOPIC = "management";
/** Loading extensions takes as long as it takes. */
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

/** How a hook is, and where. */
type HookStanding = Pick<HookRecord, "name" | "dir" | "state" | "error">;

interface Asked {
  call: string;
  args: readonly unknown[];
}

type Action =
  | "hooks.enable"
  | "hooks.disable"
  | "hooks.approve"
  | "hooks.reload"
  | "hooks.rescan"
  | "plugins.reload"
  | "plugins.rescan";

export function createEverywhere(
  own: Management,
  state: () => GatewayState,
  workers: Workers | undefined,
) {
  const { hooks, plugins } = own;
  const number = (workers?.index ?? 0) + 1;
  const calls: Record<string, (...args: never[]) => unknown> = {
    "hooks.list": () =>
      hooks.list().map((info) => ({ worker: number, record: describeHook(info, own.events()) })),
    "hooks.logs": (name: string, count: number) => hooks.logs(name, count),
    "log.recent": () => own.log.recent(),
    status: () => statusOf(own, state(), number),
  };
  const actions: Record<Action, (name: string) => Promise<unknown>> = {
    "hooks.enable": (name) => enableHook(own, name),
    "hooks.disable": (name) => disableHook(own, name),
    "hooks.approve": (name) => hooks.approve(name),
    "hooks.reload": (name?: string) => hooks.reload(name),
    "hooks.rescan": () => hooks.rescan(),
    "plugins.reload": (name) => plugins.reload(name),
    "plugins.rescan": () => plugins.rescan(),
  };
  async function here(call: string, args: readonly unknown[]): Promise<unknown> {
    const action = (actions as Record<string, (name: string) => Promise<unknown>>)[call];
    if (!action) return calls[call]?.(...(args as never[]));
    await action(args[0] as string); // what it resolves with may hold what cannot leave its process
    return undefined;
  }

  /** What all workers answer, this one first. */
  async function all<T>(call: string, ...args: unknown[]): Promise<T[]> {
    const others = workers ? workers.askAll<T>(TOPIC, { call, args } satisfies Asked) : [];
    return [(await here(call, args)) as T, ...(await others)];
  }

  return {
    /** Answers the other workers. */
    answer: (): Dispose =>
      workers?.on(TOPIC, ({ call, args }: Asked) => here(call, args)) ?? (() => {}),
    /** Here first, then in the others; rejects with what one of them says. */
    async act(call: Action, ...args: unknown[]): Promise<void> {
      await here(call, args);
      for (const to of workers?.ready() ?? []) {
        if (to === workers?.index) continue;
        await workers
          ?.ask(to, TOPIC, { call, args } satisfies Asked, ACTION_MS)
          .catch((error: PorticoError) => {
            const { code, message, status } = error;
            throw new PorticoError(code, `worker ${to + 1}: ${message}`, { status });
          });
      }
    },
    async hooks(): Promise<HookRecord[]> {
      const [first = [], ...others] =
        await all<{ worker: number; record: HookRecord }[]>("hooks.list");
      const elsewhere = others.flat();
      const sameAs = (one: HookRecord) =>
        elsewhere.filter(({ record }) => record.name === one.name && record.dir === one.dir);
      return first.map(({ record }) => sameAs(record).reduce(together, record));
    },
    async hook(name: string): Promise<HookRecord> {
      const one = describeHook(hooks.info(name), own.events());
      return (
        (await this.hooks()).find((record) => record.name === one.name && record.dir === one.dir) ??
        one
      );
    },
    async hookLines(name: string, count: number) {
      const lines = await all<ReturnType<typeof hooks.logs>>("hooks.logs", name, count);
      return lines
        .flat()
        .sort(byTime(({ at }) => at))
        .slice(-count);
    },
    /** The last lines of the log as JSON, oldest first. */
    async lines(): Promise<string[]> {
      const lines = await all<readonly string[]>("log.recent");
      if (lines.length === 1) return [...(lines[0] ?? [])];
      return lines.flat().sort(byTime((line) => /"time":"([^"]*)"/.exec(line)?.[1] ?? ""));
    },
    status: () => all<WorkerStatus>("status"),
  };
}
export type Everywhere = ReturnType<typeof createEverywhere>;

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
