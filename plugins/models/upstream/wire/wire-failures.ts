/** Errors for upstreams that gave no response. They name the setting that must change. */
import { isPorticoError, type PorticoError } from "portico";
import { type UpstreamError, upstreamError } from "portico/provider";
import type { AttemptTarget } from "../target.ts";
import { Unsendable } from "../http/upstream-client.ts";
import { ProxyFailure } from "../http/via-proxy.ts";
import { errors } from "../../errors.ts";

/** The exchange failed. `begun`: a part of the response has come. */
export function connectionFailure(
  target: AttemptTarget,
  error: Error,
  begun: boolean,
): PorticoError {
  if (error instanceof Unsendable) return misconfigured(target, error);
  // The error concerns the proxy's address, and its message already names the setting.
  if (isPorticoError(error)) return notSendable(target.channel, error.message);
  if (error instanceof ProxyFailure) {
    const message = `The upstream of channel \`${target.channel}\` could not be reached: ${error.message}.`;
    return upstreamError({ kind: "upstream", message }, 0);
  }
  const { code } = error as NodeJS.ErrnoException;
  const what = begun
    ? "broke off its response"
    : "could not be reached, or closed the connection without a response";
  const message = `The upstream of channel \`${target.channel}\` ${what}${code === undefined ? "" : ` (${code})`}.`;
  return upstreamError({ kind: "upstream", message }, 0);
}

/**
 * The channel's configuration makes requests that cannot be sent: no upstream is to blame, and no retry helps. The key to
 * look at is named, and never its value: it may be a secret.
 */
function misconfigured(
  { channel, headers, apiKey }: AttemptTarget,
  error: Unsendable,
): PorticoError {
  const key = wrongKey(error.header, headers, apiKey);
  return notSendable(channel, `${error.message}. See channels.${channel}.${key}.`);
}

/** The key of the channel that the header came from; without a header, the address is wrong. */
function wrongKey(
  header: string | undefined,
  headers: Record<string, string>,
  apiKey: string | undefined,
): string {
  if (header === undefined) return "baseUrl";
  return header in headers || apiKey === undefined ? "headers" : "apiKey";
}

function notSendable(channel: string, why: string): PorticoError {
  return errors.channelMisconfigured({ channel, problem: why });
}

/** Nothing came for `ms`: to the first byte, or behind others. */
export function silence({ channel }: AttemptTarget, ms: number, begun: boolean): UpstreamError {
  const what = begun ? `sent nothing for ${ms} ms` : `did not begin to respond within ${ms} ms`;
  return upstreamError(
    { kind: "timeout", message: `The upstream of channel \`${channel}\` ${what}.` },
    0,
  );
}
