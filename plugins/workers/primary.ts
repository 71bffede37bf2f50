/**
 * The process that runs the workers: it accepts the connections and distributes them in turn, replaces a worker that dies or
 * no longer responds, and relays messages. It loads no gateway, so that little in it can fail.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { listenError } from "portico";
import { createBallots } from "./ballots.ts";
import { ConnectionCopies } from "./connection-copies.ts";
import { type ToPrimary, type ToWorker, WORKER_VARIABLE } from "./messages.ts";
import { createPlaces } from "./places.ts";
import { watchSilence } from "./silence.ts";

/** The longest pause between two failed starts, so that repeated starts do not occupy a CPU core. */
const MAX_PAUSE_MS = 10_000;
/** A worker that has not accepted a connection for this long is blocked, as in a debugger: the others get new ones. */
const BLOCKED_MS = 500;
/** The time in addition to `stopMs`, the workers' own limit for a stop. */
const EXTRA_STOP_MS = 10_000;

export interface PrimaryOptions {
  count: number;
  host: string;
  port: number;
  tokenIsNew: boolean;
  stopMs: number;
  /** Called once, when all workers accept requests. */
  started(banner: string): void;
  log(line: string): void;
}

interface Worker {
  child: ChildProcess;
  /** The worker accepts connections. */
  isReady: boolean;
  /** The worker was ready at least once, so its start did not fail. */
  hasStarted: boolean;
  /** Connections that were sent to the worker and not accepted yet. */
  inTransit: Map<number, Socket>;
  /** Copies of the connections that the worker has. */
  copies: ConnectionCopies;
  /** When the worker last accepted a connection, or when the first one in transit was sent (`performance.now()`). */
  waitingSince: number;
  /** Set when the worker is ready, since a start may take long. */
  silence?: ReturnType<typeof watchSilence>;
}

type Handler<M> = (index: number, worker: Worker, message: M) => void;
/** The handlers of a worker's messages by type. */
type Handlers = { [T in ToPrimary["type"]]: Handler<Extract<ToPrimary, { type: T }>> };

/** Listens and starts the first worker. Resolves before any worker is ready; rejects if it cannot listen. */
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
  /** The number of consecutive failed starts, by worker. */
  readonly #failures = new Map<number, number>();
  /** Connections that arrived while no worker was ready. */
  readonly #waitingConnections: Socket[] = [];
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy()); // until a worker has the connection
    this.#assignConnection(socket);
  });
  readonly #places = createPlaces(({ worker, ref }) =>
    this.#send(worker, { type: "granted", ref }),
  );
  readonly #ballots = createBallots({
    voters: () => this.#readyWorkers(),
    look: (worker, vote) => this.#send(worker, { type: "look", vote }),
    sendDecision: (worker, vote) => this.#send(worker, { type: "decided", vote }),
  });
  #port = 0;
  /** The banner of the first worker, once that is ready. */
  #banner: string | undefined;
  #isStarted = false;
  #stopping: Promise<number> | undefined;
  #nextTurn = 0;
  #lastRef = 0;
  #resolveEnded = (_code: number): void => {};
  /** Resolves with the exit code. */
  readonly ended = new Promise<number>((resolve) => {
    this.#resolveEnded = resolve;
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
      this.#resolveEnded(code);
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

  #readyWorkers(): number[] {
    const ready = [...this.#workers].filter(([, { isReady }]) => isReady);
    return ready.map(([index]) => index).sort((a, b) => a - b);
  }

  /** Gives a connection to the next worker that is ready and takes connections. */
  #assignConnection(socket: Socket): void {
    const ready = this.#readyWorkers();
    const unblocked = ready.filter((index) => !isBlocked(this.#workers.get(index) as Worker));
    const candidates = unblocked.length > 0 ? unblocked : ready;
    if (candidates.length === 0) {
      this.#waitingConnections.push(socket);
      return;
    }
    const worker = this.#workers.get(
      candidates[this.#nextTurn++ % candidates.length] as number,
    ) as Worker;
    const ref = ++this.#lastRef;
    if (worker.inTransit.size === 0) worker.waitingSince = performance.now();
    worker.inTransit.set(ref, socket);
    const message: ToWorker = { type: "connection", ref };
    // This process keeps it open until the worker has it, so that the death of a worker loses no connection.
    worker.child.send(message, socket, { keepOpen: true }, () => {});
  }

  #announceReady(): void {
    const workers = this.#readyWorkers();
    for (const index of this.#workers.keys()) this.#send(index, { type: "ready", workers });
    if (workers.length === 0) return;
    for (const socket of this.#waitingConnections.splice(0))
      if (!socket.destroyed) this.#assignConnection(socket);
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
      inTransit: new Map(),
      copies: new ConnectionCopies(),
      waitingSince: 0,
    };
    this.#workers.set(index, worker);
    child.on("message", (message: ToPrimary) => {
      worker.silence?.countMessage();
      // The last messages of a worker may arrive after its exit, when its successor has its place, or no worker yet.
      if (this.#workers.get(index) === worker) this.#handle(index, worker, message);
    });
    child.on("error", () => {}); // a message that the worker exited too early to receive
    child.once("exit", (code, signal) => this.#onExit(index, worker, code, signal));
  }

  readonly #handlers: Handlers = {
    hello: (index) => this.#begin(index),
    ready: (index, worker, { banner }) => this.#onReady(index, worker, banner),
    taken: (_index, worker, { ref }) => completeTransit(worker, ref),
    closed: (_index, worker, { ref }) => worker.copies.close(ref),
    "last words": (_index, worker, { ref, words }) => worker.copies.setLastWords(ref, words),
    leaving: (_index, worker) => {
      worker.isReady = false;
      this.#announceReady();
    },
    post: (from, _worker, { to, post }) => this.#send(to, { type: "post", from, post }),
    answer: (from, _worker, { to, answer }) => this.#send(to, { type: "answer", from, answer }),
    vote: (index, _worker, { vote }) => this.#ballots.cast(index, vote),
    enter: (worker, _, { name, max, ref }) => this.#places.enter(name, max, { worker, ref }),
    leave: (index, _worker, { ref }) => this.#places.leave(index, ref),
    pong: () => {}, // countMessage() has already counted it, as it counts any message
  };

  #handle(index: number, worker: Worker, message: ToPrimary): void {
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
    this.#send(index, { type: "ready", workers: this.#readyWorkers() });
  }

  /** Starts the other workers when the first one is ready: what is created once, such as the store's tables, exists by then. */
  #onReady(index: number, worker: Worker, banner: string): void {
    const { count, started, log } = this.#options;
    worker.isReady = true;
    worker.hasStarted = true;
    worker.silence = watchSilence({
      pid: worker.child.pid,
      ping: () => this.#send(index, { type: "ping" }),
      giveUp(why) {
        log(`worker ${index + 1} ${why}, so it is killed`);
        worker.child.kill("SIGKILL");
      },
    });
    this.#announceReady();
    this.#ballots.addVoter(index);
    if (this.#banner === undefined) {
      this.#banner = banner;
      for (let next = 0; next < count; next++)
        if (!this.#workers.has(next)) this.#startWorker(next);
    }
    if (this.#isStarted || this.#readyWorkers().length < count) return;
    this.#isStarted = true;
    started(this.#banner);
  }

  /** Cleans up after a worker's process has exited, and replaces it. */
  #onExit(index: number, worker: Worker, code: number | null, signal: string | null): void {
    worker.silence?.end();
    this.#workers.delete(index);
    worker.copies.closeAll(signal !== null);
    this.#places.leave(index);
    this.#ballots.removeVoter(index);
    this.#announceReady();
    if (this.#stopping) return;
    for (const socket of worker.inTransit.values())
      if (!socket.destroyed) this.#assignConnection(socket);
    // The reason that kept the first worker from starting would keep all of them. It has logged the reason.
    if (this.#banner === undefined) {
      this.#resolveEnded(code ?? 1);
      return;
    }
    const pauseMs = this.#pauseBefore(index, worker);
    const exitReason = signal ?? `code ${code}`;
    const when = pauseMs > 0 ? ` in ${pauseMs} ms` : "";
    this.#options.log(`worker ${index + 1} has ended (${exitReason}) and is replaced${when}`);
    setTimeout(() => {
      if (!this.#stopping) this.#startWorker(index);
    }, pauseMs);
  }

  /** Returns 0 for a worker that had started, however often it dies. Only failed starts wait longer each time. */
  #pauseBefore(index: number, { hasStarted }: Worker): number {
    const failures = hasStarted ? 0 : (this.#failures.get(index) ?? 0) + 1;
    this.#failures.set(index, failures);
    return failures < 2 ? 0 : Math.min(MAX_PAUSE_MS, 250 * 2 ** failures);
  }

  async #stopWorkers(reason: string): Promise<number> {
    const exits = [...this.#workers.values()].map(({ child }) => waitForExitCode(child));
    this.#server.close();
    for (const socket of this.#waitingConnections.splice(0)) socket.destroy();
    for (const index of this.#workers.keys()) this.#send(index, { type: "stop", reason });
    const killTimer = setTimeout(
      () => this.signal("SIGKILL"),
      this.#options.stopMs + EXTRA_STOP_MS,
    );
    const codes = await Promise.all(exits);
    clearTimeout(killTimer);
    return Math.max(0, ...codes);
  }
}

function isBlocked({ inTransit, waitingSince }: Worker): boolean {
  return inTransit.size > 0 && performance.now() - waitingSince > BLOCKED_MS;
}

/** Turns a connection in transit into a copy, once the worker has accepted it. */
function completeTransit(worker: Worker, ref: number): void {
  worker.waitingSince = performance.now();
  worker.copies.add(ref, worker.inTransit.get(ref) as Socket);
  worker.inTransit.delete(ref);
}

/** Resolves at the exit. A signal that ends a worker which does not handle signals yet is no failure, except SIGKILL. */
function waitForExitCode(child: ChildProcess): Promise<number> {
  return new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? (signal === "SIGKILL" ? 1 : 0))),
  );
}
