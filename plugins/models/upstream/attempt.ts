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
  /** The attempt has completed, failed or been cancelled. Called once. */
  closed(): void;
  /** The stream failed after it had begun. */
  broken(error: PorticoError): void;
}

/** An attempt at a provider that runs in this process. */
export interface LocalAttempt extends Attempt {
  provider: ChatProvider;
  /**
   * `timeoutMs` limits the wait for the response or its first chunk, `idleTimeoutMs` the wait between chunks.
   * Undefined: no limit.
   */
  timeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
}

/** How a provider communicates with its upstream, for chat or for another route. */
export interface WireRoute extends WireProvider {
  /** For a route other than chat: translates the events of the upstream's stream into those of the route. */
  bytes?: ((sent: WireRequest, target: Target) => StreamDecoder) | undefined;
}

/** An attempt at an upstream over HTTP. */
export interface WireAttempt extends Attempt {
  client: UpstreamClient;
  wire: WireRoute;
  /** Set if the upstream requires the signatures of its reasoning again. */
  signatures: Signatures | undefined;
  /** The request is sent in the caller's format, and so is the response. */
  native?: NativeForm | undefined;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** The maximum size of one event of a stream. */
  maxEventBytes: number;
  /** The gateway requests the usage of the stream, although the client did not. */
  askUsage: boolean;
}
