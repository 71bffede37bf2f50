/** The request to an upstream: the caller's own bytes where they fit, else the provider's encoding. */
import type { ChatRequest, WireProvider, WireRequest } from "portico/provider";
import type { Job } from "../../job.ts";
import { askingForUsage } from "../../openai/usage.ts";
import { sendableBytes } from "../../openai/splice.ts";
import type { AttemptTarget } from "../target.ts";

interface Outgoing {
  /** The job's request, or the one that the provider's rules made of it. */
  request: ChatRequest;
  /** The gateway asks for the usage of the stream, which the client did not. */
  askUsage: boolean;
}

export function wireRequest(
  wire: WireProvider,
  target: AttemptTarget,
  job: Job,
  { request, askUsage }: Outgoing,
): WireRequest | Promise<WireRequest> {
  const asIs = request === job.request ? callersBytes(wire, target, job, askUsage) : undefined;
  if (asIs !== undefined) return asIs;
  let sent: ChatRequest = { ...request, model: target.model };
  if (target.bare && job.ownStreamOptions) delete sent["stream_options"];
  if (job.stream !== (request.stream === true)) sent = { ...sent, stream: job.stream };
  if (askUsage) sent = { ...sent, stream_options: withUsage(request["stream_options"]) };
  return wire.encode(sent, target);
}

function withUsage(options: unknown): object {
  return { ...(options as object | null | undefined), include_usage: true };
}

/** Undefined if the request must be serialised again. */
function callersBytes(
  wire: WireProvider,
  target: AttemptTarget,
  { raw, request }: Job,
  askUsage: boolean,
): WireRequest | undefined {
  const direct = raw === undefined ? undefined : wire.passThrough?.(target, request);
  if (raw === undefined || direct === undefined) return undefined;
  const bytes = sendableBytes(raw, request, target.model);
  const body = askUsage ? askingForUsage(bytes, request["stream_options"]) : bytes;
  if (body === undefined) return undefined;
  const { url, headers } = direct;
  return { method: "POST", url, headers, body, coding: "latin1", dropped: [] };
}
