/** Why an upstream gave no response, for the person who must act. */
import { PorticoError } from "portico";
import { type UpstreamError, upstreamError } from "portico/chat";
import type { AttemptTarget } from "../target.ts";
import { Unsendable } from "../http/upstream-client.ts";

/** The exchange failed. `begun`: a part of the response has come. */
export function connectionFailure(target: AttemptTarget, error: Error, begun: boolean): PorticoError {
  if (error instanceof Unsendable) return misconfigured(target, error);
  const { code } = error as NodeJS.ErrnoException;
  const what = begun ? "broke off its answer" : "could not be reached, or closed the connection without an answer";
  const message = `The upstream of channel \`${target.channel}\` ${what}${code === undefined ? "" : ` (${code})`}.`;
  return upstreamError({ kind: "upstream", message }, 0);
}

/**
 * The channel's configuration makes requests that cannot be sent: no upstream is to blame, and no retry helps. The key to
 * look at is named, and never its value: it may be a secret.
 */
function misconfigured({ channel, headers, apiKey }: AttemptTarget, error: Unsendable): PorticoError {
  const { header } = error;
  const key = header === undefined ? "baseUrl" : header in headers || apiKey === undefined ? "headers" : "apiKey";
  return new PorticoError(
    "service_unavailable",
    `The channel \`${channel}\` cannot be asked: ${error.message}. See channels.${channel}.${key}.`,
    { type: "api_error" },
  );
}

/** Nothing came for `ms`: to the first byte, or behind others. */
export function silence({ channel }: AttemptTarget, ms: number, begun: boolean): UpstreamError {
  const what = begun ? `fell silent for ${ms} ms` : `did not begin to answer within ${ms} ms`;
  return upstreamError({ kind: "timeout", message: `The upstream of channel \`${channel}\` ${what}.` }, 0);
}
