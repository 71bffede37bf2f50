/** Generates load over raw sockets, and measures its cost in the process under load. */
import type { Socket } from "node:net";
import { open } from "../chat/chat-load.ts";
import type { Subject } from "./built.ts";
import { cpuMicros } from "./measure.ts";

export interface Load {
  perSecond: number;
  /** The processor time per call in µs. */
  micros: number;
  /** The time of each call in ms. */
  times: number[];
}

export interface LoadOptions {
  connections: number;
  /** The total number of calls. */
  count?: number;
  /** The time after which no call starts. */
  ms?: number;
}

/** Makes calls one after another on each connection, until `count` calls have started or `ms` have passed. */
export async function load(
  subject: Subject,
  { connections, count = Number.POSITIVE_INFINITY, ms = Number.POSITIVE_INFINITY }: LoadOptions,
  work: (socket: Socket, n: number) => Promise<unknown>,
): Promise<Load> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(subject)));
  const times: number[] = [];
  let next = 0;
  const cpu = cpuMicros(subject.process.pid!);
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      for (let sent = began; next < count && sent - began < ms; sent = performance.now()) {
        await work(socket, next++);
        times.push(performance.now() - sent);
      }
    }),
  );
  const perSecond = (times.length * 1000) / (performance.now() - began);
  const micros = (cpuMicros(subject.process.pid!) - cpu) / times.length;
  for (const socket of sockets) socket.destroy();
  return { perSecond, micros, times };
}
