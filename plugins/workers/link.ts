/** A worker's side: the connections it is handed, what it says to the others, and what all decide together. */
import type { Socket } from "node:net";
import { PorticoError, type WorkerLink, type Workers } from "portico";
import {
  portable,
  type Post,
  type ToPrimary,
  type ToWorker,
  unpacked,
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
    // What all are told may come before: it is told again.
    const hear = (message: ToWorker) => {
      if (message.type === "stop") process.exit(0);
      if (message.type !== "begin") return;
      process.off("message", hear);
      resolve(createLink(message));
    };
    process.on("message", hear);
    process.send?.({ type: "hello" } satisfies ToPrimary);
  });
}

function createLink({
  index,
  count,
  gateway,
  port,
  tokenIsNew,
}: Extract<ToWorker, { type: "begin" }>): ProcessLink {
  const takers = new Map<string, (data: never, from: number) => unknown>();
  const asked = new Map<number, { to: number; done(value: unknown, error?: Error): void }>();
  const places = new Map<number, () => void>();
  const connections = new WeakMap<Socket, number>();
  const votes = createVotes(index, (vote) => send({ type: "vote", vote }));
  let ready: readonly number[] = [];
  let refs = 0;
  let connected = (socket: Socket): void => void socket.destroy();
  let stop = (_reason: string): void => process.exit(0);

  function send(message: ToPrimary): void {
    if (process.connected) process.send?.(message, undefined, {}, () => {});
  }

  function ask<T>(to: number, topic: string, data?: unknown, limitMs = ANSWER_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const ref = ++refs;
      const late = () =>
        done(undefined, new PorticoError("timeout", `Worker ${to + 1} has not answered in time.`));
      const timer = setTimeout(late, limitMs);
      const done = (value: unknown, error?: Error) => {
        clearTimeout(timer);
        asked.delete(ref);
        if (error) reject(error);
        else resolve(value as T);
      };
      asked.set(ref, { to, done });
      if (ready.includes(to)) send({ type: "post", to, post: { ref, topic, data } });
      else done(undefined, gone(to));
    });
  }

  async function answer(from: number, { ref, topic, data }: Post): Promise<void> {
    try {
      const take = takers.get(topic);
      if (!take)
        throw new PorticoError(
          "service_unavailable",
          `Worker ${index + 1} does not know of ${topic} yet.`,
        );
      const value = await take(data as never, from);
      if (ref !== 0) send({ type: "answer", to: from, answer: { ref, value } });
    } catch (error) {
      if (ref !== 0) send({ type: "answer", to: from, answer: { ref, error: portable(error) } });
    }
  }

  process.on("message", (message: ToWorker, socket?: Socket) => {
    if (message.type === "connection") {
      const { ref } = message;
      send({ type: "taken", ref });
      if (socket) {
        connections.set(socket, ref);
        socket.once("close", () => send({ type: "closed", ref }));
        connected(socket);
      } else send({ type: "closed", ref });
    }
    if (message.type === "post") void answer(message.from, message.post);
    if (message.type === "answer") {
      const { ref, value, error } = message.answer;
      asked.get(ref)?.done(value, error && unpacked(error));
    }
    if (message.type === "ready") {
      ready = message.workers;
      for (const { to, done } of asked.values()) if (!ready.includes(to)) done(undefined, gone(to));
    }
    if (message.type === "look") void votes.lookFor(message.vote);
    if (message.type === "decided") votes.decided(message.vote);
    if (message.type === "ping") send({ type: "pong" });
    if (message.type === "granted") places.get(message.ref)?.();
    if (message.type === "stop") stop(message.reason);
  });
  process.once("disconnect", () => stop("the process that runs the workers is gone"));

  const others = () => ready.filter((worker) => worker !== index);
  const workers: Workers = {
    index,
    count,
    gateway,
    ready: () => ready,
    tell(topic, data) {
      for (const to of others()) send({ type: "post", to, post: { ref: 0, topic, data } });
    },
    ask,
    async askAll<T>(topic: string, data?: unknown, limitMs?: number) {
      const answers = await Promise.allSettled(
        others().map((to) => ask<T>(to, topic, data, limitMs)),
      );
      return answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    },
    on(topic, take) {
      takers.set(topic, take);
      return () => void (takers.get(topic) === take && takers.delete(topic));
    },
    place(name, max) {
      const ref = ++refs;
      const granted = new Promise<void>((resolve) => places.set(ref, resolve));
      send({ type: "enter", ref, name, max });
      return { granted, leave: () => void (places.delete(ref) && send({ type: "leave", ref })) };
    },
    lastWords(socket, words) {
      const ref = socket === null ? undefined : connections.get(socket);
      if (ref !== undefined) send({ type: "last words", ref, words });
    },
  };

  return {
    workers,
    port,
    tokenIsNew,
    ready(banner, take) {
      connected = take;
      send({ type: "ready", banner });
    },
    leave: () => send({ type: "leaving" }),
    end() {
      stop = () => {};
      if (process.connected) process.disconnect();
    },
    agree: votes.cast,
    onLook: votes.onLook,
    onStop: (next) => void (stop = next),
  };
}

function gone(worker: number): PorticoError {
  return new PorticoError(
    "service_unavailable",
    `Worker ${worker + 1} is not there: try again in a moment.`,
    {
      headers: { "retry-after": "1" },
    },
  );
}
