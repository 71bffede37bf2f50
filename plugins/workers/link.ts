/** A worker's side: its connections, its messages to the other workers, and what all decide together. */
import type { Socket } from "node:net";
import type { WorkerLink, Workers } from "portico";
import { errors } from "./errors.ts";
import {
  portable,
  type Post,
  type ToPrimary,
  type ToWorker,
  unpackError,
  WORKER_VARIABLE,
} from "./messages.ts";
import { createVotes } from "./votes.ts";

const ANSWER_MS = 5_000;

/** What the process has of it, beside what its gateway has. */
export interface ProcessLink extends WorkerLink {
  /** From now on connections come. */
  ready(banner: string, take: (socket: Socket) => void): void;
  /** Further connections go to the others. */
  leave(): void;
  /** Its start has failed: nothing here keeps the process any more. */
  end(): void;
  /** Called once. */
  onStop(stop: (reason: string) => void): void;
}

/** Undefined in a process that is no worker. */
export async function joinWorkers(
  env: Record<string, string | undefined>,
): Promise<ProcessLink | undefined> {
  if (env[WORKER_VARIABLE] === undefined || !process.send) return undefined;
  delete env[WORKER_VARIABLE];
  return new Promise((resolve) => {
    // A message to all may arrive before; then it is sent again.
    const hear = (message: ToWorker) => {
      if (message.type === "stop") process.exit(0);
      if (message.type !== "begin") return;
      process.off("message", hear);
      resolve(new Link(message));
    };
    process.on("message", hear);
    process.send?.({ type: "hello" } satisfies ToPrimary);
  });
}

type Begin = Extract<ToWorker, { type: "begin" }>;
type Take = (data: never, from: number) => unknown;
type Handlers = {
  [T in ToWorker["type"]]: (
    message: Extract<ToWorker, { type: T }>,
    socket: Socket | undefined,
  ) => void;
};

/** A question to another worker whose answer has not come. */
interface Question {
  to: number;
  settle(value: unknown, error?: Error): void;
}

class Link implements ProcessLink {
  readonly workers: Workers;
  readonly port: number;
  readonly tokenIsNew: boolean;
  readonly #index: number;
  readonly #takers = new Map<string, Take>();
  readonly #questions = new Map<number, Question>();
  /** Called when the place is granted, by the number of the request for it. */
  readonly #places = new Map<number, () => void>();
  readonly #connections = new WeakMap<Socket, number>();
  readonly #votes;
  #ready: readonly number[] = [];
  #refs = 0;
  #connected = (socket: Socket): void => void socket.destroy();
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
      ready: () => this.#ready,
      tell: (topic, data) => this.#tell(topic, data),
      ask: (to, topic, data, limitMs) => this.#ask(to, topic, data, limitMs),
      askAll: (topic, data, limitMs) => this.#askAll(topic, data, limitMs),
      on: (topic, take) => this.#on(topic, take),
      place: (name, max) => this.#place(name, max),
      lastWords: (socket, words) => this.#lastWords(socket, words),
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
    this.#connected = take;
    this.#send({ type: "ready", banner });
  }

  leave(): void {
    this.#send({ type: "leaving" });
  }

  end(): void {
    this.#stop = () => {};
    if (process.connected) process.disconnect();
  }

  /** A field, since the kernel passes it on by itself. */
  readonly agree: ProcessLink["agree"] = (subject, id, refusal) =>
    this.#votes.cast(subject, id, refusal);

  onLook(look: Parameters<ProcessLink["onLook"]>[0]): void {
    this.#votes.onLook(look);
  }

  onStop(stop: (reason: string) => void): void {
    this.#stop = stop;
  }

  readonly #handlers: Handlers = {
    begin: () => {}, // handled before there is a link
    connection: ({ ref }, socket) => this.#takeConnection(ref, socket),
    post: ({ from, post }) => void this.#answer(from, post),
    answer: ({ answer: { ref, value, error } }) =>
      this.#questions.get(ref)?.settle(value, error && unpackError(error)),
    ready: ({ workers }) => this.#setReady(workers),
    look: ({ vote }) => void this.#votes.lookFor(vote),
    decided: ({ vote }) => this.#votes.decided(vote),
    ping: () => this.#send({ type: "pong" }),
    granted: ({ ref }) => this.#places.get(ref)?.(),
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
    this.#connections.set(socket, ref);
    socket.once("close", () => this.#send({ type: "closed", ref }));
    this.#connected(socket);
  }

  /** Questions to workers that are no longer ready get no answer. */
  #setReady(workers: readonly number[]): void {
    this.#ready = workers;
    for (const { to, settle } of this.#questions.values())
      if (!workers.includes(to)) settle(undefined, notRunning(to));
  }

  #others(): number[] {
    return this.#ready.filter((worker) => worker !== this.#index);
  }

  #tell(topic: string, data: unknown): void {
    for (const to of this.#others())
      this.#send({ type: "post", to, post: { ref: 0, topic, data } });
  }

  #ask<T>(to: number, topic: string, data?: unknown, limitMs = ANSWER_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const ref = ++this.#refs;
      const late = () => settle(undefined, errors.noAnswer({ worker: to + 1 }));
      const timer = setTimeout(late, limitMs);
      const settle = (value: unknown, error?: Error) => {
        clearTimeout(timer);
        this.#questions.delete(ref);
        if (error) reject(error);
        else resolve(value as T);
      };
      this.#questions.set(ref, { to, settle });
      if (this.#ready.includes(to)) this.#send({ type: "post", to, post: { ref, topic, data } });
      else settle(undefined, notRunning(to));
    });
  }

  /** The answers of those that give one in time. */
  async #askAll<T>(topic: string, data?: unknown, limitMs?: number): Promise<T[]> {
    const answers = await Promise.allSettled(
      this.#others().map((to) => this.#ask<T>(to, topic, data, limitMs)),
    );
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  /** Responds to a request of another worker; 0 means that the message expects no response. */
  async #answer(from: number, { ref, topic, data }: Post): Promise<void> {
    try {
      const take = this.#takers.get(topic);
      if (!take) throw errors.unknownTopic({ worker: this.#index + 1, topic });
      const value = await take(data as never, from);
      if (ref !== 0) this.#send({ type: "answer", to: from, answer: { ref, value } });
    } catch (error) {
      if (ref === 0) return;
      this.#send({ type: "answer", to: from, answer: { ref, error: portable(error) } });
    }
  }

  #on(topic: string, take: Take): () => void {
    this.#takers.set(topic, take);
    return () => {
      if (this.#takers.get(topic) === take) this.#takers.delete(topic);
    };
  }

  #place(name: string, max: number): { granted: Promise<void>; leave(): void } {
    const ref = ++this.#refs;
    const granted = new Promise<void>((resolve) => this.#places.set(ref, resolve));
    this.#send({ type: "enter", ref, name, max });
    const leave = () => {
      if (this.#places.delete(ref)) this.#send({ type: "leave", ref });
    };
    return { granted, leave };
  }

  #lastWords(socket: Socket | null, words?: Uint8Array): void {
    const ref = socket === null ? undefined : this.#connections.get(socket);
    if (ref !== undefined) this.#send({ type: "last words", ref, words });
  }
}

function notRunning(index: number): Error {
  return errors.notRunning({ worker: index + 1 }, { headers: { "retry-after": "1" } });
}
