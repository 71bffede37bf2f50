/** The messages between a worker and the process that runs it, over the channel that Node.js opens for a fork. */
import { isPorticoError, PorticoError } from "portico";
import type { Vote } from "./ballots.ts";

/** Marks a process as a worker, which deletes the variable from its environment at once. */
export const WORKER_VARIABLE = "PORTICO_WORKER";

export interface Post {
  /** The number of the request; 0 if no process waits for a response. */
  ref: number;
  topic: string;
  data?: unknown;
}

interface Answer {
  ref: number;
  value?: unknown;
  error?: PortableError;
}

export type ToPrimary =
  | { type: "hello" }
  | { type: "ready"; banner: string }
  | { type: "taken"; ref: number }
  | { type: "closed"; ref: number }
  | { type: "last words"; ref: number; words?: Uint8Array | undefined }
  | { type: "leaving" }
  | { type: "pong" }
  | { type: "post"; to: number; post: Post }
  | { type: "answer"; to: number; answer: Answer }
  | { type: "vote"; vote: Vote }
  | { type: "enter"; ref: number; name: string; max: number }
  | { type: "leave"; ref: number };

export type ToWorker =
  | {
      type: "begin";
      index: number;
      count: number;
      gateway: string;
      /** Milliseconds since 1970. */
      startedAt: number;
      port: number;
      tokenIsNew: boolean;
    }
  | { type: "connection"; ref: number }
  | { type: "ready"; workers: readonly number[] }
  | { type: "post"; from: number; post: Post }
  | { type: "answer"; from: number; answer: Answer }
  | { type: "look"; vote: Vote }
  | { type: "decided"; vote: Vote }
  | { type: "granted"; ref: number }
  | { type: "ping" }
  | { type: "stop"; reason: string };

/** An error in the form in which it goes to another process. */
export interface PortableError {
  code: string;
  message: string;
  status: number;
  headers?: Record<string, string> | undefined;
}

export function packError(error: unknown): PortableError {
  if (!isPorticoError(error))
    return { code: "internal_error", message: String((error as Error).message), status: 500 };
  const { code, message, status, headers } = error;
  return { code, message, status, headers };
}

export function unpackError({ code, message, ...options }: PortableError): PorticoError {
  return new PorticoError(code, message, options);
}
