/**
 * The process that runs the workers: it accepts the connections and hands them out in turn, replaces a worker that dies or
 * stands still, and passes messages on. It loads no gateway, so nothing in it can fail for long.
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
/** A worker that has not taken a connection for this long stands still, as in a debugger: new ones go to the others. */
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

export interface Primary {
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  stop(reason: string): Promise<number>;
  signal(signal: NodeJS.Signals): void;
}

interface Worker {
  child: ChildProcess;
  ready: boolean;
  /** It was ready once: its start did not fail. */
  arrived: boolean;
  /** Connections on their way to it. */
  handing: Map<number, Socket>;
  /** Those that it has. */
  held: HeldConnections;
  /** When it took the last one, or got the first that is on its way. */
  awaitedSince: number;
  /** From when it was ready first: what a start does at once may take long. */
  silence?: ReturnType<typeof watchSilence>;
}

export async function runWorkers(options: PrimaryOptions): Promise<Primary> {
  const { count, tokenIsNew, log } = options;
  const gateway = randomUUID();
  const workers = new Map<number, Worker>();
  /** Starts in a row that failed, by worker. */
  const failures = new Map<number, number>();
  const waiting: Socket[] = [];
  let end = (_code: number): void => {};
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  let banner: string | undefined;
  let isStarted = false;
  let stopping: Promise<number> | undefined;
  let turn = 0;
  let connections = 0;

  const send = (to: number, message: ToWorker) =>
    void workers.get(to)?.child.send(message, () => {});
  const ready = () =>
    [...workers].flatMap(([index, worker]) => (worker.ready ? [index] : [])).sort((a, b) => a - b);
  const places = createPlaces(({ worker, ref }) => send(worker, { type: "granted", ref }));
  const ballots = createBallots({
    voters: ready,
    look: (worker, vote) => send(worker, { type: "look", vote }),
    tell: (worker, vote) => send(worker, { type: "decided", vote }),
  });

  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy()); // of one that is still ours
    hand(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(listenError(error, options.host, options.port)));
    server.listen(options.port, options.host, resolve);
  });
  server.on("error", (error) => log(`a connection could not be accepted: ${error.message}`));
  const { port } = server.address() as AddressInfo;

  function isStill(index: number): boolean {
    const { handing, awaitedSince } = workers.get(index) as Worker;
    return handing.size > 0 && performance.now() - awaitedSince > STILL_MS;
  }

  function hand(socket: Socket): void {
    const all = ready();
    const moving = all.filter((index) => !isStill(index));
    const able = moving.length > 0 ? moving : all;
    if (able.length === 0) {
      waiting.push(socket);
      return;
    }
    const index = able[turn++ % able.length] as number;
    const worker = workers.get(index) as Worker;
    const ref = ++connections;
    if (worker.handing.size === 0) worker.awaitedSince = performance.now();
    worker.handing.set(ref, socket);
    // kept until the worker has it: a worker that dies before that loses nothing
    worker.child.send(
      { type: "connection", ref } satisfies ToWorker,
      socket,
      { keepOpen: true },
      () => {},
    );
  }

  function tellReady(): void {
    const now = ready();
    for (const index of workers.keys()) send(index, { type: "ready", workers: now });
    if (now.length > 0) for (const socket of waiting.splice(0)) if (!socket.destroyed) hand(socket);
  }

  function start(index: number): void {
    const env = { ...process.env, [WORKER_VARIABLE]: String(index) };
    const child = fork(process.argv[1] as string, process.argv.slice(2), {
      env,
      serialization: "advanced",
    });
    const held = new HeldConnections();
    const worker: Worker = {
      child,
      ready: false,
      arrived: false,
      handing: new Map(),
      held,
      awaitedSince: 0,
    };
    workers.set(index, worker);
    child.on("message", (message: ToPrimary) => {
      worker.silence?.heard();
      // What it said last may come after its end is known, when another one stands in its place, or none yet.
      if (workers.get(index) === worker) take(index, message);
    });
    child.on("error", () => {}); // a message that finds it dead
    child.once("exit", (code, signal) => lost(index, worker, code, signal));
  }

  function take(index: number, message: ToPrimary): void {
    if (message.type === "hello") {
      send(index, {
        type: "begin",
        index,
        count,
        gateway,
        port,
        tokenIsNew: tokenIsNew && !isStarted,
      });
      send(index, { type: "ready", workers: ready() });
    }
    if (message.type === "ready") arrived(index, message.banner);
    if (message.type === "taken") handedOver(index, message.ref);
    if (message.type === "closed") workers.get(index)?.held.close(message.ref);
    if (message.type === "last words") workers.get(index)?.held.note(message.ref, message.words);
    if (message.type === "leaving") leave(index);
    if (message.type === "post")
      send(message.to, { type: "post", from: index, post: message.post });
    if (message.type === "answer")
      send(message.to, { type: "answer", from: index, answer: message.answer });
    if (message.type === "vote") ballots.cast(index, message.vote);
    if (message.type === "enter")
      places.enter(message.name, message.max, { worker: index, ref: message.ref });
    if (message.type === "leave") places.leave(index, message.ref);
  }

  /** The others begin when the first one runs: what is made once, be it the store's tables, is there by then. */
  function arrived(index: number, text: string): void {
    const worker = workers.get(index) as Worker;
    worker.ready = true;
    worker.arrived = true;
    worker.silence = watchSilence({
      pid: worker.child.pid,
      ping: () => send(index, { type: "ping" }),
      giveUp(why) {
        log(`worker ${index + 1} ${why}: it is killed`);
        worker.child.kill("SIGKILL");
      },
    });
    tellReady();
    ballots.arrived(index);
    if (banner === undefined) {
      banner = text;
      for (let next = 0; next < count; next++) if (!workers.has(next)) start(next);
    }
    if (isStarted || ready().length < count) return;
    isStarted = true;
    options.started(banner);
  }

  function handedOver(index: number, ref: number): void {
    const worker = workers.get(index) as Worker;
    worker.awaitedSince = performance.now();
    worker.held.hold(ref, worker.handing.get(ref) as Socket);
    worker.handing.delete(ref);
  }

  function leave(index: number): void {
    (workers.get(index) as Worker).ready = false;
    tellReady();
  }

  function lost(
    index: number,
    { arrived: hasStarted, handing, held, silence }: Worker,
    code: number | null,
    signal: string | null,
  ): void {
    silence?.end();
    workers.delete(index);
    held.end(signal !== null);
    places.leave(index);
    ballots.forget(index);
    tellReady();
    if (stopping) return;
    for (const socket of handing.values()) if (!socket.destroyed) hand(socket);
    // Whatever keeps the first one from starting keeps all of them from it, and it has said what it is.
    if (banner === undefined) {
      end(code ?? 1);
      return;
    }
    // One that had started is needed at once, however often it dies; only starts that fail wait for better times.
    const failed = hasStarted ? 0 : (failures.get(index) ?? 0) + 1;
    failures.set(index, failed);
    const pause = failed < 2 ? 0 : Math.min(LONGEST_PAUSE_MS, 250 * 2 ** failed);
    log(
      `worker ${index + 1} has ended (${signal ?? `code ${code}`}) and is replaced${pause ? ` in ${pause} ms` : ""}`,
    );
    setTimeout(() => stopping ?? start(index), pause);
  }

  async function stop(reason: string): Promise<number> {
    const gone = [...workers.values()].map(
      // one that has not come to taking signals is ended by them
      ({ child }) =>
        new Promise<number>((end) =>
          child.once("exit", (code, by) => end(code ?? (by === "SIGKILL" ? 1 : 0))),
        ),
    );
    server.close();
    for (const socket of waiting.splice(0)) socket.destroy();
    for (const index of workers.keys()) send(index, { type: "stop", reason });
    const late = setTimeout(() => signal("SIGKILL"), options.stopMs + SPARE_MS);
    const codes = await Promise.all(gone);
    clearTimeout(late);
    return Math.max(0, ...codes);
  }

  function signal(name: NodeJS.Signals): void {
    for (const { child } of workers.values()) child.kill(name);
  }

  start(0);
  return {
    ended,
    stop(reason) {
      stopping ??= stop(reason).then((code) => {
        end(code);
        return code;
      });
      return stopping;
    },
    signal,
  };
}
