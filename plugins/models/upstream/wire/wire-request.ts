/** Builds the request to an upstream: the caller's bytes if possible, or else the provider's encoding. */
import type { ChatRequest, WireProvider, WireRequest } from "portico/provider";
import type { Job } from "../../job.ts";
import { requestUsage } from "../../openai/usage.ts";
import { sendableBytes } from "../../openai/splice.ts";
import type { AttemptTarget } from "../target.ts";

interface Outgoing {
  /** The job's request, or a copy that the provider's rules changed. */
  request: ChatRequest;
  /** The gateway requests the usage of the stream, although the client did not. */
  askUsage: boolean;
}

export function wireRequest(
  wire: WireProvider,
  target: AttemptTarget,
  job: Job,
  { request, askUsage }: Outgoing,
): WireRequest | Promise<WireRequest> {
  const passThrough =
    request === job.request ? buildPassThrough(wire, target, job, askUsage) : undefined;
  if (passThrough !== undefined) return passThrough;
  let outgoing: ChatRequest = { ...request, model: target.model };
  if (target.bare && job.ownStreamOptions) delete outgoing["stream_options"];
  if (job.stream !== (request.stream === true)) outgoing = { ...outgoing, stream: job.stream };
  if (askUsage) outgoing = { ...outgoing, stream_options: withUsage(request["stream_options"]) };
  return wire.encode(outgoing, target);
}

function withUsage(options: unknown): object {
  return { ...(options as object | null | undefined), include_usage: true };
}

/** Builds the request from the caller's bytes. Returns undefined if it must be serialised again. */
function buildPassThrough(
  wire: WireProvider,
  target: AttemptTarget,
  { raw, request }: Job,
  askUsage: boolean,
): WireRequest | undefined {
  const direct = raw === undefined ? undefined : wire.passThrough?.(target, request);
  if (raw === undefined || direct === undefined) return undefined;
  const bytes = sendableBytes(raw, request, target.model);
  const body = askUsage ? requestUsage(bytes, request["stream_options"]) : bytes;
  if (body === undefined) return undefined;
  const { url, headers } = direct;
  return { method: "POST", url, headers, body, coding: "latin1", dropped: [] };
}
