/** Creates the errors for upstreams that sent no response. They name the setting that must change. */
import { isPorticoError, type PorticoError } from "portico";
import { type UpstreamError, upstreamError } from "portico/provider";
import type { AttemptTarget } from "../target.ts";
import { Unsendable } from "../http/upstream-client.ts";
import { ProxyFailure } from "../http/via-proxy.ts";
import { errors } from "../../errors.ts";

/** Creates the error of a failed exchange. `hasBegun`: a part of the response was received. */
export function connectionFailure(
  target: AttemptTarget,
  error: Error,
  hasBegun: boolean,
): PorticoError {
  if (error instanceof Unsendable) return misconfigured(target, error);
  // The error concerns the proxy's address, and its message already names the setting.
  if (isPorticoError(error)) return notSendable(target.channel, error.message);
  if (error instanceof ProxyFailure) {
    const message = `The upstream of channel \`${target.channel}\` could not be reached: ${error.message}.`;
    return upstreamError({ kind: "upstream", message }, 0);
  }
  const { code } = error as NodeJS.ErrnoException;
  const problem = hasBegun
    ? "broke off its response"
    : "could not be reached, or closed the connection without a response";
  const message = `The upstream of channel \`${target.channel}\` ${problem}${code === undefined ? "" : ` (${code})`}.`;
  return upstreamError({ kind: "upstream", message }, 0);
}

/**
 * Creates the error for a configuration whose requests cannot be sent: the upstream has no fault, and no retry helps.
 * The message names the key of the configuration, but not its value, which may be a secret.
 */
function misconfigured(
  { channel, headers, apiKey }: AttemptTarget,
  error: Unsendable,
): PorticoError {
  const key = wrongKey(error.header, headers, apiKey);
  return notSendable(channel, `${error.message}. See channels.${channel}.${key}.`);
}

/** Returns the key of the channel from which the header came; without a header, the address is invalid. */
function wrongKey(
  header: string | undefined,
  headers: Record<string, string>,
  apiKey: string | undefined,
): string {
  if (header === undefined) return "baseUrl";
  return header in headers || apiKey === undefined ? "headers" : "apiKey";
}

function notSendable(channel: string, problem: string): PorticoError {
  return errors.channelMisconfigured({ channel, problem });
}

/** Creates the error for an upstream that sent nothing for `ms`, before or after the first byte. */
export function silenceError(
  { channel }: AttemptTarget,
  ms: number,
  hasBegun: boolean,
): UpstreamError {
  const problem = hasBegun
    ? `sent nothing for ${ms} ms`
    : `did not begin to respond within ${ms} ms`;
  return upstreamError(
    { kind: "timeout", message: `The upstream of channel \`${channel}\` ${problem}.` },
    0,
  );
}
