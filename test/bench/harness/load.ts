/** Load over raw sockets: so many calls of some work, and what they cost the process that does it. */
import type { Socket } from "node:net";
import { open } from "../chat/chat-load.ts";
import type { Subject } from "./built.ts";
import { cpuMicros } from "./measure.ts";

export interface Load {
  perSecond: number;
  /** Of processor time, for one call. */
  micros: number;
  /** Of each call, ms. */
  times: number[];
}

export interface LoadOptions {
  connections: number;
  /** Of calls in all. */
  count?: number;
  /** After which none begins. */
  ms?: number;
}

/** Each connection makes one call after the other, until there were so many, or for so long. */
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
