/** The worker's side of its link to the primary process: connections, messages to the other workers, and votes. */
import type { Socket } from "node:net";
import type { WorkerLink, Workers } from "portico";
import { errors } from "./errors.ts";
import {
  packError,
  type Post,
  type ToPrimary,
  type ToWorker,
  unpackError,
  WORKER_VARIABLE,
} from "./messages.ts";
import { createVotes } from "./votes.ts";

const RESPONSE_TIMEOUT_MS = 5_000;

/** The link of a worker's process: the part that its gateway uses, and the part that the command line uses. */
export interface ProcessLink extends WorkerLink {
  /** Announces that this worker is ready; from then on, `take` receives connections. */
  ready(banner: string, take: (socket: Socket) => void): void;
  /** Makes further connections go to the other workers. */
  leave(): void;
  /** Closes the link after a failed start, so that it no longer keeps the process alive. */
  end(): void;
  /** Sets the function that stops this process. */
  onStop(stop: (reason: string) => void): void;
}

/** Connects to the primary process. Returns undefined in a process that is no worker. */
export async function joinWorkers(
  env: Record<string, string | undefined>,
): Promise<ProcessLink | undefined> {
  if (env[WORKER_VARIABLE] === undefined || !process.send) return undefined;
  delete env[WORKER_VARIABLE];
  return new Promise((resolve) => {
    // A message to all workers may arrive before `begin`. The primary process sends its content again later.
    const receive = (message: ToWorker) => {
      if (message.type === "stop") process.exit(0);
      if (message.type !== "begin") return;
      process.off("message", receive);
      resolve(new Link(message));
    };
    process.on("message", receive);
    process.send?.({ type: "hello" } satisfies ToPrimary);
  });
}

type Begin = Extract<ToWorker, { type: "begin" }>;
type Receive = (data: never, from: number) => unknown;
type Handlers = {
  [T in ToWorker["type"]]: (
    message: Extract<ToWorker, { type: T }>,
    socket: Socket | undefined,
  ) => void;
};

/** A request to another worker that has not responded yet. */
interface PendingRequest {
  to: number;
  settle(value: unknown, error?: Error): void;
}

class Link implements ProcessLink {
  readonly workers: Workers;
  readonly port: number;
  readonly tokenIsNew: boolean;
  readonly #index: number;
  readonly #receivers = new Map<string, Receive>();
  readonly #pendingRequests = new Map<number, PendingRequest>();
  /** The functions to call when a place is granted, by the number of the request for it. */
  readonly #placeRequests = new Map<number, () => void>();
  /** The numbers of the connections that this worker has. */
  readonly #connectionRefs = new WeakMap<Socket, number>();
  readonly #votes;
  #readyWorkers: readonly number[] = [];
  #lastRef = 0;
  #acceptConnection = (socket: Socket): void => void socket.destroy();
  #stop = (_reason: string): void => process.exit(0);

  constructor({ index, count, gateway, startedAt, port, tokenIsNew }: Begin) {
    this.#index = index;
    this.port = port;
    this.tokenIsNew = tokenIsNew;
    this.#votes = createVotes(index, (vote) => this.#send({ type: "vote", vote }));
    this.workers = {
      index,
      count,
      gateway,
      startedAt,
      ready: () => this.#readyWorkers,
      tell: (topic, data) => this.#tell(topic, data),
      ask: (to, topic, data, limitMs) => this.#ask(to, topic, data, limitMs),
      askAll: (topic, data, limitMs) => this.#askAll(topic, data, limitMs),
      on: (topic, receive) => this.#subscribe(topic, receive),
      place: (name, max) => this.#requestPlace(name, max),
      lastWords: (socket, words) => this.#setLastWords(socket, words),
    };
    process.on("message", (message: ToWorker, socket?: Socket) => {
      const handle = this.#handlers[message.type] as (
        message: ToWorker,
        socket: Socket | undefined,
      ) => void;
      handle(message, socket);
    });
    process.once("disconnect", () => this.#stop("the process that runs the workers has exited"));
  }

  ready(banner: string, take: (socket: Socket) => void): void {
    this.#acceptConnection = take;
    this.#send({ type: "ready", banner });
  }

  leave(): void {
    this.#send({ type: "leaving" });
  }

  end(): void {
    this.#stop = () => {};
    if (process.connected) process.disconnect();
  }

  /** This is a field and no method, because the kernel passes the function on without its object. */
  readonly agree: ProcessLink["agree"] = (subject, id, refusal) =>
    this.#votes.cast(subject, id, refusal);

  onLook(look: Parameters<ProcessLink["onLook"]>[0]): void {
    this.#votes.onLook(look);
  }

  onStop(stop: (reason: string) => void): void {
    this.#stop = stop;
  }

  readonly #handlers: Handlers = {
    begin: () => {}, // joinWorkers() handles it before this link exists
    connection: ({ ref }, socket) => this.#takeConnection(ref, socket),
    post: ({ from, post }) => void this.#respond(from, post),
    answer: ({ answer: { ref, value, error } }) =>
      this.#pendingRequests.get(ref)?.settle(value, error && unpackError(error)),
    ready: ({ workers }) => this.#setReadyWorkers(workers),
    look: ({ vote }) => void this.#votes.lookFor(vote),
    decided: ({ vote }) => this.#votes.applyDecision(vote),
    ping: () => this.#send({ type: "pong" }),
    granted: ({ ref }) => this.#placeRequests.get(ref)?.(),
    stop: ({ reason }) => this.#stop(reason),
  };

  #send(message: ToPrimary): void {
    if (process.connected) process.send?.(message, undefined, {}, () => {});
  }

  #takeConnection(ref: number, socket: Socket | undefined): void {
    this.#send({ type: "taken", ref });
    if (!socket) {
      this.#send({ type: "closed", ref });
      return;
    }
    this.#connectionRefs.set(socket, ref);
    socket.once("close", () => this.#send({ type: "closed", ref }));
    this.#acceptConnection(socket);
  }

  /** Updates the list, and rejects the requests to workers that are no longer ready: they get no response. */
  #setReadyWorkers(workers: readonly number[]): void {
    this.#readyWorkers = workers;
    for (const { to, settle } of this.#pendingRequests.values())
      if (!workers.includes(to)) settle(undefined, notRunningError(to));
  }

  #others(): number[] {
    return this.#readyWorkers.filter((worker) => worker !== this.#index);
  }

  #tell(topic: string, data: unknown): void {
    for (const to of this.#others())
      this.#send({ type: "post", to, post: { ref: 0, topic, data } });
  }

  #ask<T>(to: number, topic: string, data?: unknown, limitMs = RESPONSE_TIMEOUT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const ref = ++this.#lastRef;
      const rejectLate = () => settle(undefined, errors.noAnswer({ worker: to + 1 }));
      const timer = setTimeout(rejectLate, limitMs);
      const settle = (value: unknown, error?: Error) => {
        clearTimeout(timer);
        this.#pendingRequests.delete(ref);
        if (error) reject(error);
        else resolve(value as T);
      };
      this.#pendingRequests.set(ref, { to, settle });
      if (this.#readyWorkers.includes(to))
        this.#send({ type: "post", to, post: { ref, topic, data } });
      else settle(undefined, notRunningError(to));
    });
  }

  /** Resolves to the responses of the workers that respond in time. */
  async #askAll<T>(topic: string, data?: unknown, limitMs?: number): Promise<T[]> {
    const results = await Promise.allSettled(
      this.#others().map((to) => this.#ask<T>(to, topic, data, limitMs)),
    );
    return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  }

  /** Handles a message of another worker, and responds to it unless its `ref` is 0. */
  async #respond(from: number, { ref, topic, data }: Post): Promise<void> {
    try {
      const receive = this.#receivers.get(topic);
      if (!receive) throw errors.unknownTopic({ worker: this.#index + 1, topic });
      const value = await receive(data as never, from);
      if (ref !== 0) this.#send({ type: "answer", to: from, answer: { ref, value } });
    } catch (error) {
      if (ref === 0) return;
      this.#send({ type: "answer", to: from, answer: { ref, error: packError(error) } });
    }
  }

  #subscribe(topic: string, receive: Receive): () => void {
    this.#receivers.set(topic, receive);
    return () => {
      if (this.#receivers.get(topic) === receive) this.#receivers.delete(topic);
    };
  }

  #requestPlace(name: string, max: number): { granted: Promise<void>; leave(): void } {
    const ref = ++this.#lastRef;
    const granted = new Promise<void>((resolve) => this.#placeRequests.set(ref, resolve));
    this.#send({ type: "enter", ref, name, max });
    const leave = () => {
      if (this.#placeRequests.delete(ref)) this.#send({ type: "leave", ref });
    };
    return { granted, leave };
  }

  #setLastWords(socket: Socket | null, words?: Uint8Array): void {
    const ref = socket === null ? undefined : this.#connectionRefs.get(socket);
    if (ref !== undefined) this.#send({ type: "last words", ref, words });
  }
}

function notRunningError(index: number): Error {
  return errors.notRunning({ worker: index + 1 }, { headers: { "retry-after": "1" } });
}
