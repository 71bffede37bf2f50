/** Connects a node to its gateway, and reconnects it when the connection ends. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { NodeHostOptions } from "../index.ts";
import type { Refusal } from "../node-socket.ts";
import { type Connection, connect } from "./connection.ts";
import { TransferDirectory } from "./transfer-directory.ts";
import { type HostContext, isSame, type Target, resolveTarget } from "./gateway-address.ts";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** A connection that lasts this long resets the back-off. */
const STEADY_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

/** Resolves with the first connection. Reconnects in the background until the plugin ends. */
export async function startHost(parts: HostContext, options: NodeHostOptions): Promise<void> {
  const { ctx, onConfig } = parts;
  const { say } = options;
  const { tmp } = ctx.paths;
  const directories = {
    uploads: new TransferDirectory(tmp, "uploads/from-gateway", DAY_MS),
    outgoing: new TransferDirectory(tmp, "to-gateway", 7 * DAY_MS),
  };
  // No page of an earlier process remains that could read these files.
  await directories.uploads.clear();
  let failures = 0;

  /**
   * Tries once. At the first attempt, rejects if a retry cannot help: the gateway refuses the node, or the settings are
   * invalid.
   */
  async function tryConnect(isFirst: boolean): Promise<Connection | undefined> {
    let target: Target | undefined;
    try {
      target = await resolveTarget(parts, options);
      return await connect(parts, target, directories);
    } catch (error) {
      if (ctx.signal.aborted) return undefined;
      const problem = explain(error, target);
      if (problem.isFinal && isFirst) throw problem.error;
      say(problem.error.message);
      return undefined;
    }
  }

  /** Retries until it is connected. Resolves with undefined when the plugin ends. */
  async function connectWithRetries(
    isFirst: boolean,
    atOnce: boolean,
  ): Promise<Connection | undefined> {
    for (let isNow = atOnce; !ctx.signal.aborted; isNow = false) {
      if (!isNow) {
        const delay = backOff(failures++);
        say(`Retrying in ${(delay / 1000).toFixed(1)} s.`);
        await pause(delay, parts);
        if (ctx.signal.aborted) return undefined;
      }
      const connection = await tryConnect(isFirst);
      if (connection !== undefined) return connection;
    }
    return undefined;
  }

  async function keepConnected(first: Connection | undefined): Promise<void> {
    for (let connection = first; connection !== undefined; ) {
      const { target, closed, close } = connection;
      say(`Connected to ${target.displayUrl} as ${target.name}.`);
      const since = Date.now();
      let hasNewTarget = false;
      const closeIfChanged = (now: Target): void => {
        if (isSame(now, target)) return;
        hasNewTarget = true;
        close("the node's settings have changed");
      };
      const checkTarget = (): void =>
        void resolveTarget(parts, options).then(closeIfChanged, (error) => say(error.message));
      const unlisten = onConfig(checkTarget);
      checkTarget(); // the settings may have changed during the handshake
      const { code, reason } = await closed;
      unlisten();
      if (ctx.signal.aborted) return;
      if (hasNewTarget || Date.now() - since > STEADY_MS) failures = 0;
      say(
        `The connection to ${target.displayUrl} ended${reason === "" ? ` (${code})` : `: ${reason}`}.`,
      );
      connection = await connectWithRetries(false, hasNewTarget);
    }
  }

  void keepConnected(await connectWithRetries(true, true));
}

/**
 * Matches Node's error codes for a certificate that is self-signed, expired, from an unknown authority, or for another
 * name.
 */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|HOSTNAME_MISMATCH/;

/** Returns a hint if the scheme may be wrong: `http` in the address while the gateway uses TLS, or the reverse. */
function schemeHint({ url }: Target, reason: string): string {
  if (url.startsWith("ws:"))
    return reason === "ECONNRESET" ? " Perhaps the gateway accepts only https." : "";
  return /WRONG_VERSION|EPROTO/.test(reason) ? " Perhaps the gateway accepts only http." : "";
}

/** The cause of a failure, in words for the user. If `isFinal`, a retry cannot help. */
interface Problem {
  error: PorticoError;
  isFinal: boolean;
}

function explain(error: unknown, target: Target | undefined): Problem {
  if (target === undefined) return { error: error as PorticoError, isFinal: true };
  const refusal = isPorticoError(error) ? error.details?.["refusal"] : undefined;
  if (refusal === undefined) return explainFailure(error as NodeJS.ErrnoException, target);
  return explainRefusal(refusal as Refusal, target, error);
}

/** Explains a failure without an HTTP response from the gateway. */
function explainFailure(cause: NodeJS.ErrnoException, target: Target): Problem {
  const reason = cause.code ?? cause.message;
  const gateway = target.displayUrl;
  if (UNTRUSTED.test(reason))
    return { error: errors.untrustedCertificate({ gateway, reason }, { cause }), isFinal: true };
  const hint = schemeHint(target, reason);
  return {
    error: errors.gatewayUnreachable({ gateway, reason, hint }, { cause }),
    isFinal: false,
  };
}

function explainRefusal({ status, message }: Refusal, target: Target, cause: unknown): Problem {
  const { displayUrl: gateway, name } = target;
  const final = (error: PorticoError): Problem => ({ error, isFinal: true });
  switch (status) {
    case 401:
      return final(errors.tokenRefused({ gateway }, { cause }));
    case 426: {
      const reason = message || "Update the gateway or this node, whichever is older.";
      return final(errors.versionRefused({ gateway, reason }, { cause }));
    }
    case 409: {
      const reason = message || "Choose another name with --name.";
      return final(errors.nameRefused({ gateway, name, reason }, { cause }));
    }
    case 404:
      return final(errors.notAGateway({ gateway }, { cause }));
    case 400:
    case 403:
      return final(errors.nodeRefused({ gateway, reason: message ?? "" }, { cause }));
    default: {
      const reason = message || `The gateway responded with ${status}.`;
      return { error: errors.gatewayNotReady({ gateway, reason }), isFinal: false };
    }
  }
}

/**
 * Returns the delay in ms. It doubles with each failure, and half of it is random, so that nodes do not all reconnect to a
 * restarted gateway at once.
 */
function backOff(failures: number): number {
  const maximum = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return maximum / 2 + (Math.random() * maximum) / 2;
}

/** Waits for `ms`, or until the settings change or the plugin ends. */
function pause(ms: number, { ctx: { signal }, onConfig }: HostContext): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      unlisten();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    const unlisten = onConfig(done);
    signal.addEventListener("abort", done, { once: true });
  });
}
