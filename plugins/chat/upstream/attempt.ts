/** One try of a request at one target, as whoever makes it is told of it. */
import type { PorticoError } from "portico";
import type { ChatProvider, NativeForm, WireProvider } from "portico/chat";
import type { Job } from "../job.ts";
import type { Signatures } from "../signatures/signatures.ts";
import type { UpstreamClient } from "./http/upstream-client.ts";
import type { AttemptTarget } from "./target.ts";

interface Attempt {
  target: AttemptTarget;
  job: Job;
  watcher: AttemptWatcher;
}

/** Who is told of an attempt's end. An object: for two functions each attempt would make two. */
export interface AttemptWatcher {
  /** Completed, failed or cancelled. Called once. */
  closed(): void;
  /** A stream broke off after it had begun. */
  broken(error: PorticoError): void;
}

/** At a provider that answers in this process. */
export interface LocalAttempt extends Attempt {
  provider: ChatProvider;
  /** To the response or its first chunk, and between chunks. Undefined: the provider takes its time. */
  timeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
}

/** At an upstream over HTTP. */
export interface WireAttempt extends Attempt {
  client: UpstreamClient;
  wire: WireProvider;
  /** Where the upstream wants signatures of reasoning again. */
  signatures: Signatures | undefined;
  /** The request goes out in the caller's own form, and so the response comes back. */
  native?: NativeForm | undefined;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** The usage of the stream is asked for, though the client did not. */
  askUsage: boolean;
}
