/** The parameters of one attempt of a request at one target. */
import type { PorticoError } from "portico";
import type {
  ChatProvider,
  NativeForm,
  StreamDecoder,
  Target,
  WireProvider,
  WireRequest,
} from "portico/provider";
import type { Job } from "../job.ts";
import type { Signatures } from "../signatures/signatures.ts";
import type { UpstreamClient } from "./http/upstream-client.ts";
import type { AttemptTarget } from "./target.ts";

interface Attempt {
  target: AttemptTarget;
  job: Job;
  watcher: AttemptWatcher;
}

/** Watches an attempt. It is an object, because two functions would be created for each attempt. */
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

/** A provider's way to its upstream, for chat or for another route. */
export interface WireRoute extends WireProvider {
  /** Of a route beside chat: translates a stream of the upstream's events into those of the route. */
  bytes?: ((sent: WireRequest, target: Target) => StreamDecoder) | undefined;
}

/** At an upstream over HTTP. */
export interface WireAttempt extends Attempt {
  client: UpstreamClient;
  wire: WireRoute;
  /** Where the upstream wants signatures of reasoning again. */
  signatures: Signatures | undefined;
  /** The request goes out in the caller's own form, and so the response comes back. */
  native?: NativeForm | undefined;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** The largest single event of a stream that is read. */
  maxEventBytes: number;
  /** The gateway asks for the usage of the stream, which the client did not. */
  askUsage: boolean;
}
