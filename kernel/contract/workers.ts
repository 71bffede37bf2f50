/** The processes of one gateway. */
import type { Dispose } from "./common.ts";

/**
 * The service `workers`, available if `gateway.workers` is above 1. Messages are values that `structuredClone` accepts.
 */
export interface Workers {
  /**
   * Counts from 0. The first worker holds resources that a machine has once, such as a browser. A worker that died is
   * replaced under its index.
   */
  readonly index: number;
  readonly count: number;
  /** Identifies the gateway that the workers form; new at each start. */
  readonly gateway: string;
  /**
   * The start time of the gateway, in milliseconds since 1970: the same in all workers, also in one that replaces
   * another.
   */
  readonly startedAt: number;
  /** Returns the indices of the workers that accept requests now. */
  ready(): readonly number[];
  /** Sends a message to every other worker. */
  tell(topic: string, data: unknown): void;
  /**
   * Asks every other worker, and resolves to their responses. A worker that fails, or does not respond within `limitMs`
   * (default 5000), is left out.
   */
  askAll<T = unknown>(topic: string, data?: unknown, limitMs?: number): Promise<T[]>;
  /**
   * Asks one worker, and resolves to its response. Rejects with the error that it throws, or with `service_unavailable`
   * if it is gone.
   */
  ask<T = unknown>(worker: number, topic: string, data?: unknown, limitMs?: number): Promise<T>;
  /** Handles the messages and requests of other workers under a topic. */
  on(topic: string, take: (data: never, from: number) => unknown): Dispose;
  /**
   * Requests one of `max` places with that name over all workers, in the order of the requests. `granted` resolves when
   * the place is available; `leave` returns it, or stops waiting. The places of a worker that has exited are free.
   */
  place(name: string, max: number): { granted: Promise<void>; leave(): void };
}

/** The link of one of several processes of a gateway to the others. */
export interface WorkerLink {
  readonly workers: Workers;
  /** The port of the server that all workers share. */
  readonly port: number;
  readonly tokenIsNew: boolean;
  /**
   * Resolves when every worker has this version ready. Rejects with the reason if not: `conflict` if another version
   * comes first.
   */
  agree(subject: string, id: string, refusal?: Error): Promise<void>;
  /**
   * Sets the function that is called when another worker has a version for which this one has not voted yet. `look`
   * resolves when this worker has looked for it.
   */
  onLook(look: (subject: string) => Promise<SeenVersion>): void;
}

/** The version that a worker has, and why it has no newer one. */
export interface SeenVersion {
  id?: string | undefined;
  problem?: string | undefined;
}
