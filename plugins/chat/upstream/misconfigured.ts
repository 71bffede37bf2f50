/** A channel whose configuration makes requests that cannot be sent: no upstream is to blame, and no retry helps. */
import { PorticoError } from "portico";
import type { AttemptTarget } from "../routing/target.ts";
import type { Unsendable } from "./upstreams.ts";

/** Names the key to look at, and never its value: it may be a secret. */
export function misconfigured({ channel, headers, apiKey }: AttemptTarget, error: Unsendable): PorticoError {
  const { header } = error;
  const key = header === undefined ? "baseUrl" : header in headers || apiKey === undefined ? "headers" : "apiKey";
  return new PorticoError(
    "service_unavailable",
    `The channel \`${channel}\` cannot be asked: ${error.message}. See channels.${channel}.${key}.`,
    { type: "api_error", cause: error },
  );
}
