/** What goes out to an upstream: the caller's own bytes wherever that is right, else what the provider makes of them. */
import type { WireProvider, WireRequest } from "portico/chat";
import type { Job } from "../../job.ts";
import { askingForUsage } from "../../openai/usage.ts";
import { sendableBytes } from "../../openai/splice.ts";
import type { AttemptTarget } from "../target.ts";

/** `askUsage`: the usage of the stream is asked for, though the client did not. */
export function wireRequest(
  wire: WireProvider,
  target: AttemptTarget,
  job: Job,
  askUsage: boolean,
): WireRequest | Promise<WireRequest> {
  const options = job.request["stream_options"];
  const direct = job.raw === undefined ? undefined : wire.passThrough?.(target, job.request);
  if (direct !== undefined) {
    const bytes = sendableBytes(job.raw!, job.request, target.model);
    const body = askUsage ? askingForUsage(bytes, options) : bytes;
    if (body !== undefined)
      return {
        method: "POST",
        url: direct.url,
        headers: direct.headers,
        body,
        coding: "latin1",
        dropped: [],
      };
  }
  let request =
    job.stream === (job.request.stream === true)
      ? job.request
      : { ...job.request, stream: job.stream };
  if (askUsage)
    request = {
      ...request,
      stream_options: { ...(options as object | null), include_usage: true },
    };
  return wire.encode({ ...request, model: target.model }, target);
}
