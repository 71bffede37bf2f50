/** What the automation library throws, said in our words: no terminal codes, no stack, no call log. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "./errors.ts";

const TERMINAL =
  /(?:\u001b\[|\u009b)[0-9;?]*[ -/]*[@-~]|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Takes terminal escape sequences and other control characters out of a text. */
export const plainText = (text: string): string => text.replace(TERMINAL, "");

const rawMessage = (error: unknown): string =>
  plainText(error instanceof Error ? error.message : String(error));

/** The first paragraph of a library message, without `locator.click: `, call log and stack lines. */
export function headline(error: unknown): string {
  // Line by line: pages throw what they like, and over lines a search for blanks goes back and forth.
  const all = rawMessage(error).split("\n");
  const log = all.findIndex((line, at) => at > 0 && /^\s*(?:Call log:|={3,})/.test(line));
  const lines = all.slice(0, log < 0 ? undefined : log).filter((line) => !/^\s+at /.test(line));
  const first = lines.join(" ").replace(/\s+/g, " ").trim();
  return first
    .replace(/^[a-zA-Z]+\.[a-zA-Z]+: /, "")
    .replace(/^(?:Error|TimeoutError): /, "")
    .slice(0, 600);
}

/** The lines of the call log, newest last. */
export function callLog(error: unknown): string[] {
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

const NETWORK: Record<string, string> = {
  ERR_CONNECTION_REFUSED: "the connection was refused",
  ERR_CONNECTION_RESET: "the connection was reset",
  ERR_CONNECTION_CLOSED: "the connection was closed",
  ERR_CONNECTION_TIMED_OUT: "the connection timed out",
  ERR_TIMED_OUT: "the connection timed out",
  ERR_NAME_NOT_RESOLVED: "the host name does not resolve",
  ERR_NETWORK_CHANGED: "the network changed while it was loading",
  ERR_INTERNET_DISCONNECTED: "the browser is set offline (POST /set/offline)",
  ERR_EMPTY_RESPONSE: "the server closed the connection without an answer",
  ERR_TOO_MANY_REDIRECTS: "there are too many redirects",
  ERR_ABORTED: "the page stopped the navigation, or the address is a download",
  ERR_INVALID_AUTH_CREDENTIALS: "the server refused the credentials (POST /set/credentials)",
  ERR_TUNNEL_CONNECTION_FAILED: "the host could not be reached",
  ERR_SOCKS_CONNECTION_FAILED: "the host could not be reached",
  ERR_UNSAFE_PORT: "the browser refuses this port",
  ERR_FILE_NO_SPACE: "the disk is full",
};

/** `net::ERR_…` in words, where the text holds one. */
export function networkFailure(text: string): string | undefined {
  const code = /net::(ERR_[A-Z_0-9]+)/.exec(text)?.[1];
  return code === undefined ? undefined : (NETWORK[code] ?? code);
}

/** A full disk is the one file error that callers can do something about. */
function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return (
    code === "ENOSPC" || code === "EDQUOT" || /ENOSPC|EDQUOT|no space left/i.test(rawMessage(error))
  );
}

/** 507 `storage_full`. */
export const diskFull = (cause?: unknown): PorticoError => errors.diskFull({ cause });

/** Any error as one that may be shown. `what` names the action: "The click". */
export function failure(error: unknown, what: string): PorticoError {
  if (isPorticoError(error)) return error as PorticoError;
  const options = { cause: error };
  // The library throws plain errors only: these are mistakes of ours.
  if (
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError
  ) {
    return errors.ownMistake({ what }, options);
  }
  if (isGone(error)) {
    return errors.tabEnded({ what }, options);
  }
  if (isDiskFull(error)) return diskFull(error);
  // The system's words about a file: `EACCES: permission denied, open '/home/…'`; where it lies is nobody's business.
  if ((error as NodeJS.ErrnoException)?.path !== undefined)
    return errors.failedBecause({ what, reason: `${headline(error).split(",")[0]}.` }, options);
  if (isTimeout(error)) return errors.lateBecause({ what, reason: headline(error) }, options);
  const text = rawMessage(error);
  if (/Invalid frame in aria-ref/.test(text)) {
    return errors.frameGone(options);
  }
  if (/Execution context was destroyed|frame (?:was|got) detached|Frame was detached/i.test(text)) {
    return errors.cutOff({ what }, options);
  }
  const network = networkFailure(text);
  return errors.failedBecause({ what, reason: network ?? headline(error) }, options);
}
