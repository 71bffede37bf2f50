/** Converts errors of the automation library to messages without terminal codes, stack traces or call logs. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "./errors.ts";

const TERMINAL_SEQUENCES =
  /(?:\u001b\[|\u009b)[0-9;?]*[ -/]*[@-~]|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Removes terminal escape sequences and other control characters from a text. */
export const stripControlCharacters = (text: string): string =>
  text.replace(TERMINAL_SEQUENCES, "");

const rawMessage = (error: unknown): string =>
  stripControlCharacters(error instanceof Error ? error.message : String(error));

/** Returns the first paragraph of a library message, without `locator.click: `, call log and stack lines. */
export function summarizeError(error: unknown): string {
  // Search line by line: pages can throw any text, and a pattern for blanks across lines would backtrack too much.
  const allLines = rawMessage(error).split("\n");
  const logStart = allLines.findIndex((line, at) => at > 0 && /^\s*(?:Call log:|={3,})/.test(line));
  const lines = allLines
    .slice(0, logStart < 0 ? undefined : logStart)
    .filter((line) => !/^\s+at /.test(line));
  const paragraph = lines.join(" ").replace(/\s+/g, " ").trim();
  return paragraph
    .replace(/^[a-zA-Z]+\.[a-zA-Z]+: /, "")
    .replace(/^(?:Error|TimeoutError): /, "")
    .slice(0, 600);
}

/** Returns the lines of the call log, newest last. */
export function readCallLog(error: unknown): string[] {
  const [, log = ""] = rawMessage(error).split("Call log:");
  return log
    .split("\n")
    .map((line) => line.replace(/^[\s-]*(?:\d+ × )?/, "").trim())
    .filter(Boolean);
}

export const isTimeout = (error: unknown): boolean =>
  (error instanceof Error && error.name === "TimeoutError") ||
  (isPorticoError(error) && error.code === "timeout");

export const isGone = (error: unknown): boolean =>
  /has been closed|Target closed|Target crashed|Page crashed|Page closed|Session closed|Connection closed|No target with given id/i.test(
    rawMessage(error),
  );

const NETWORK_ERRORS: Record<string, string> = {
  ERR_CONNECTION_REFUSED: "the connection was refused",
  ERR_CONNECTION_RESET: "the connection was reset",
  ERR_CONNECTION_CLOSED: "the connection was closed",
  ERR_CONNECTION_TIMED_OUT: "the connection timed out",
  ERR_TIMED_OUT: "the connection timed out",
  ERR_NAME_NOT_RESOLVED: "the host name does not resolve",
  ERR_NETWORK_CHANGED: "the network changed while the page was loading",
  ERR_INTERNET_DISCONNECTED:
    "the browser is set to offline (to change this, send `offline: false` to POST /set/offline)",
  ERR_EMPTY_RESPONSE: "the server closed the connection without a response",
  ERR_TOO_MANY_REDIRECTS: "there are too many redirects",
  ERR_ABORTED: "the page stopped the navigation, or the address is a download",
  ERR_INVALID_AUTH_CREDENTIALS:
    "the server refused the credentials (set others with POST /set/credentials)",
  ERR_TUNNEL_CONNECTION_FAILED: "the host could not be reached",
  ERR_SOCKS_CONNECTION_FAILED: "the host could not be reached",
  ERR_UNSAFE_PORT: "the browser refuses this port",
  ERR_FILE_NO_SPACE: "the disk is full",
};

/** Describes the `net::ERR_…` code in a text, or returns `undefined` if the text contains none. */
export function describeNetworkError(text: string): string | undefined {
  const code = /net::(ERR_[A-Z_0-9]+)/.exec(text)?.[1];
  return code === undefined ? undefined : (NETWORK_ERRORS[code] ?? code);
}

/** True if the disk is full, the one file error that callers can act on. */
function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return (
    code === "ENOSPC" || code === "EDQUOT" || /ENOSPC|EDQUOT|no space left/i.test(rawMessage(error))
  );
}

/** Creates the error 507 `storage_full`. */
export const diskFullError = (cause?: unknown): PorticoError => errors.diskFull({ cause });

/** Creates the error 504 `timeout` for an error of the library. Most of these say only how long the library waited. */
function libraryTimeout(cause: unknown, what: string): PorticoError {
  const reason = summarizeError(cause);
  const [, ms] = /^Timeout (\d+)ms exceeded\.?$/.exec(reason) ?? [];
  return ms === undefined
    ? errors.timedOutBecause({ what, reason }, { cause })
    : errors.timedOut({ what, ms }, { cause });
}

/** Converts any error to one that may be shown to callers. `what` names the action: "The click". */
export function toPublicError(error: unknown, what: string): PorticoError {
  if (isPorticoError(error)) return error as PorticoError;
  const options = { cause: error };
  // The library only throws plain errors, so these types are bugs of the gateway.
  if (
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError
  ) {
    return errors.internalError({ what }, options);
  }
  if (isGone(error)) {
    return errors.tabEnded({ what }, options);
  }
  if (isDiskFull(error)) return diskFullError(error);
  // Only the reason of a system error is shown (`EACCES: permission denied, open '/home/…'`), not the path.
  if ((error as NodeJS.ErrnoException)?.path !== undefined)
    return errors.failedBecause(
      { what, reason: `${summarizeError(error).split(",")[0]}.` },
      options,
    );
  if (isTimeout(error)) return libraryTimeout(error, what);
  const message = rawMessage(error);
  if (/Invalid frame in aria-ref/.test(message)) {
    return errors.frameGone(options);
  }
  if (
    /Execution context was destroyed|frame (?:was|got) detached|Frame was detached/i.test(message)
  ) {
    return errors.interruptedByNavigation({ what }, options);
  }
  const networkReason = describeNetworkError(message);
  const reason = networkReason === undefined ? summarizeError(error) : `${networkReason}.`;
  return errors.failedBecause({ what, reason }, options);
}
