/**
 * The process that runs the workers: it accepts the connections and hands them out in turn, replaces a worker that dies or
 * stands still, and passes messages on. It loads no gateway, so that little in it can fail.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { listenError } from "portico";
import { createBallots } from "./ballots.ts";
import { HeldConnections } from "./held-connections.ts";
import { type ToPrimary, type ToWorker, WORKER_VARIABLE } from "./messages.ts";
import { createPlaces } from "./places.ts";
import { watchSilence } from "./silence.ts";

/** Between two starts that both failed: whatever it is, it takes no core. */
const LONGEST_PAUSE_MS = 10_000;
/** A worker that has not accepted a connection for this long is blocked, as in a debugger: the others get new ones. */
const STILL_MS = 500;
/** Beyond the workers' own time for a stop. */
const SPARE_MS = 10_000;

export interface PrimaryOptions {
  count: number;
  host: string;
  port: number;
  tokenIsNew: boolean;
  stopMs: number;
  /** Called once all take requests. */
  started(banner: string): void;
  log(line: string): void;
}

interface Worker {
  child: ChildProcess;
  /** It takes connections. */
  isReady: boolean;
  /** It was ready once: its start did not fail. */
  hasStarted: boolean;
  /** Connections on their way to it. */
  handing: Map<number, Socket>;
  /** Connections that it has. */
  held: HeldConnections;
  /** When it took the last connection, or received the first one that is on its way. */
  awaitedSince: number;
  /** From when it was ready first, since what a start does may take long. */
  silence?: ReturnType<typeof watchSilence>;
}

type Handler<M> = (index: number, worker: Worker, message: M) => void;
/** What each message of a worker leads to. */
type Handlers = { [T in ToPrimary["type"]]: Handler<Extract<ToPrimary, { type: T }>> };

/** Listens, starts the first worker, and resolves while the others start. */
export async function runWorkers(options: PrimaryOptions): Promise<Primary> {
  const primary = new Primary(options);
  await primary.start();
  return primary;
}

export class Primary {
  readonly #options: PrimaryOptions;
  readonly #gateway = randomUUID();
  readonly #startedAt = Date.now();
  readonly #workers = new Map<number, Worker>();
  /** Starts in a row that failed, by worker. */
  readonly #failures = new Map<number, number>();
  /** Connections that came while no worker was ready. */
  readonly #waiting: Socket[] = [];
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy()); // as long as no worker has it
    this.#hand(socket);
  });
  readonly #places = createPlaces(({ worker, ref }) =>
    this.#send(worker, { type: "granted", ref }),
  );
  readonly #ballots = createBallots({
    voters: () => this.#ready(),
    look: (worker, vote) => this.#send(worker, { type: "look", vote }),
    tell: (worker, vote) => this.#send(worker, { type: "decided", vote }),
  });
  #port = 0;
  /** Of the first worker, until all are ready. */
  #banner: string | undefined;
  #isStarted = false;
  #stopping: Promise<number> | undefined;
  #turn = 0;
  #connections = 0;
  #end = (_code: number): void => {};
  /** Resolves with the exit code. */
  readonly ended = new Promise<number>((resolve) => {
    this.#end = resolve;
  });

  constructor(options: PrimaryOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { host, port, log } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error) => reject(listenError(error, host, port)));
      this.#server.listen(port, host, resolve);
    });
    this.#server.on("error", (error) =>
      log(`a connection could not be accepted: ${error.message}`),
    );
    this.#port = (this.#server.address() as AddressInfo).port;
    this.#startWorker(0);
  }

  stop(reason: string): Promise<number> {
    this.#stopping ??= this.#stopWorkers(reason).then((code) => {
      this.#end(code);
      return code;
    });
    return this.#stopping;
  }

  signal(name: NodeJS.Signals): void {
    for (const { child } of this.#workers.values()) child.kill(name);
  }

  #send(to: number, message: ToWorker): void {
    this.#workers.get(to)?.child.send(message, () => {});
  }

  #ready(): number[] {
    const ready = [...this.#workers].filter(([, { isReady }]) => isReady);
    return ready.map(([index]) => index).sort((a, b) => a - b);
  }

  /** Gives a connection to the next worker that is ready and takes connections. */
  #hand(socket: Socket): void {
    const ready = this.#ready();
    const moving = ready.filter((index) => !isStill(this.#workers.get(index) as Worker));
    const able = moving.length > 0 ? moving : ready;
    if (able.length === 0) {
      this.#waiting.push(socket);
      return;
    }
    const worker = this.#workers.get(able[this.#turn++ % able.length] as number) as Worker;
    const ref = ++this.#connections;
    if (worker.handing.size === 0) worker.awaitedSince = performance.now();
    worker.handing.set(ref, socket);
    const message: ToWorker = { type: "connection", ref };
    // kept open here until the worker has it, so that a worker that dies before loses nothing
    worker.child.send(message, socket, { keepOpen: true }, () => {});
  }

  #announceReady(): void {
    const workers = this.#ready();
    for (const index of this.#workers.keys()) this.#send(index, { type: "ready", workers });
    if (workers.length === 0) return;
    for (const socket of this.#waiting.splice(0)) if (!socket.destroyed) this.#hand(socket);
  }

  #startWorker(index: number): void {
    const env = { ...process.env, [WORKER_VARIABLE]: String(index) };
    const child = fork(process.argv[1] as string, process.argv.slice(2), {
      env,
      serialization: "advanced",
    });
    const worker: Worker = {
      child,
      isReady: false,
      hasStarted: false,
      handing: new Map(),
      held: new HeldConnections(),
      awaitedSince: 0,
    };
    this.#workers.set(index, worker);
    child.on("message", (message: ToPrimary) => {
      worker.silence?.heard();
      // Its last message may come after its end is known, when its successor has its place, or nobody yet.
      if (this.#workers.get(index) === worker) this.#take(index, worker, message);
    });
    child.on("error", () => {}); // a message that it does not live to receive
    child.once("exit", (code, signal) => this.#lost(index, worker, code, signal));
  }

  readonly #handlers: Handlers = {
    hello: (index) => this.#begin(index),
    ready: (index, worker, { banner }) => this.#arrived(index, worker, banner),
    taken: (_index, worker, { ref }) => handOver(worker, ref),
    closed: (_index, worker, { ref }) => worker.held.close(ref),
    "last words": (_index, worker, { ref, words }) => worker.held.note(ref, words),
    leaving: (_index, worker) => {
      worker.isReady = false;
      this.#announceReady();
    },
    post: (from, _worker, { to, post }) => this.#send(to, { type: "post", from, post }),
    answer: (from, _worker, { to, answer }) => this.#send(to, { type: "answer", from, answer }),
    vote: (index, _worker, { vote }) => this.#ballots.cast(index, vote),
    enter: (worker, _, { name, max, ref }) => this.#places.enter(name, max, { worker, ref }),
    leave: (index, _worker, { ref }) => this.#places.leave(index, ref),
    pong: () => {}, // as any message, it has shown that the worker is alive
  };

  #take(index: number, worker: Worker, message: ToPrimary): void {
    const handle = this.#handlers[message.type] as Handler<ToPrimary>;
    handle(index, worker, message);
  }

  #begin(index: number): void {
    const { count, tokenIsNew } = this.#options;
    this.#send(index, {
      type: "begin",
      index,
      count,
      gateway: this.#gateway,
      startedAt: this.#startedAt,
      port: this.#port,
      tokenIsNew: tokenIsNew && !this.#isStarted,
    });
    this.#send(index, { type: "ready", workers: this.#ready() });
  }

  /** The others begin when the first one runs: what is made once, such as the store's tables, exists by then. */
  #arrived(index: number, worker: Worker, banner: string): void {
    const { count, started, log } = this.#options;
    worker.isReady = true;
    worker.hasStarted = true;
    worker.silence = watchSilence({
      pid: worker.child.pid,
      ping: () => this.#send(index, { type: "ping" }),
      giveUp(why) {
        log(`worker ${index + 1} ${why}: it is killed`);
        worker.child.kill("SIGKILL");
      },
    });
    this.#announceReady();
    this.#ballots.arrived(index);
    if (this.#banner === undefined) {
      this.#banner = banner;
      for (let next = 0; next < count; next++)
        if (!this.#workers.has(next)) this.#startWorker(next);
    }
    if (this.#isStarted || this.#ready().length < count) return;
    this.#isStarted = true;
    started(this.#banner);
  }

  /** The worker's process has ended. */
  #lost(index: number, worker: Worker, code: number | null, signal: string | null): void {
    worker.silence?.end();
    this.#workers.delete(index);
    worker.held.end(signal !== null);
    this.#places.leave(index);
    this.#ballots.forget(index);
    this.#announceReady();
    if (this.#stopping) return;
    for (const socket of worker.handing.values()) if (!socket.destroyed) this.#hand(socket);
    // What keeps the first worker from starting would keep all of them, and it has reported that.
    if (this.#banner === undefined) {
      this.#end(code ?? 1);
      return;
    }
    const pauseMs = this.#pauseBefore(index, worker);
    const how = signal ?? `code ${code}`;
    const when = pauseMs > 0 ? ` in ${pauseMs} ms` : "";
    this.#options.log(`worker ${index + 1} has ended (${how}) and is replaced${when}`);
    setTimeout(() => {
      if (!this.#stopping) this.#startWorker(index);
    }, pauseMs);
  }

  /** A worker that had started is replaced at once, however often it dies. Only starts that fail wait longer each time. */
  #pauseBefore(index: number, { hasStarted }: Worker): number {
    const failed = hasStarted ? 0 : (this.#failures.get(index) ?? 0) + 1;
    this.#failures.set(index, failed);
    return failed < 2 ? 0 : Math.min(LONGEST_PAUSE_MS, 250 * 2 ** failed);
  }

  async #stopWorkers(reason: string): Promise<number> {
    const exits = [...this.#workers.values()].map(({ child }) => exitCodeOf(child));
    this.#server.close();
    for (const socket of this.#waiting.splice(0)) socket.destroy();
    for (const index of this.#workers.keys()) this.#send(index, { type: "stop", reason });
    const late = setTimeout(() => this.signal("SIGKILL"), this.#options.stopMs + SPARE_MS);
    const codes = await Promise.all(exits);
    clearTimeout(late);
    return Math.max(0, ...codes);
  }
}

function isStill({ handing, awaitedSince }: Worker): boolean {
  return handing.size > 0 && performance.now() - awaitedSince > STILL_MS;
}

/** The worker has taken a connection that was on its way. */
function handOver(worker: Worker, ref: number): void {
  worker.awaitedSince = performance.now();
  worker.held.hold(ref, worker.handing.get(ref) as Socket);
  worker.handing.delete(ref);
}

/** A worker that does not handle signals yet is ended by one: that is no failure, unless it had to be killed. */
function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? (signal === "SIGKILL" ? 1 : 0))),
  );
}
