/** The processes of one gateway. */
import type { Dispose } from "./common.ts";

/** The service `workers`: there where `gateway.workers` is above 1. Messages are anything that `structuredClone` takes. */
export interface Workers {
  /** From 0. The first one holds what a machine has once, such as a browser; one that died is replaced under its number. */
  readonly index: number;
  readonly count: number;
  /** Names the gateway that they are; another one at each start. */
  readonly gateway: string;
  /** When the gateway started, in milliseconds since 1970: the same in all workers, also in one that replaces another. */
  readonly startedAt: number;
  /** Those that take requests now. */
  ready(): readonly number[];
  /** To every other worker. */
  tell(topic: string, data: unknown): void;
  /** What every other one answers; one that fails, or does not within `limitMs` (default 5000), is left out. */
  askAll<T = unknown>(topic: string, data?: unknown, limitMs?: number): Promise<T[]>;
  /** What that one answers. Rejects with what it throws, and with `service_unavailable` where it is gone. */
  ask<T = unknown>(worker: number, topic: string, data?: unknown, limitMs?: number): Promise<T>;
  /** Takes what others tell and ask under a topic. */
  on(topic: string, take: (data: never, from: number) => unknown): Dispose;
  /**
   * A place among `max` of that name over all workers, in the order in which they were asked for. `granted` resolves with it;
   * `leave` gives it back, or gives up waiting. What a worker held is free once it is gone.
   */
  place(name: string, max: number): { granted: Promise<void>; leave(): void };
}

/** How one of several processes of a gateway is tied to the others. */
export interface WorkerLink {
  readonly workers: Workers;
  /** Of the server that all share. */
  readonly port: number;
  readonly tokenIsNew: boolean;
  /** Resolves once every worker has this version ready; rejects with why not: `conflict`, where another comes first. */
  agree(subject: string, id: string, refusal?: Error): Promise<void>;
  /** Called where another worker has a version that this one has not voted for yet: resolves when it has looked. */
  onLook(look: (subject: string) => Promise<SeenVersion>): void;
}

/** Which version a worker has, and why it has no newer one. */
export interface SeenVersion {
  id?: string | undefined;
  problem?: string | undefined;
}
