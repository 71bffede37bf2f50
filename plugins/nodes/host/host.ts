/** A node's connection to its gateway: made, kept, and made again. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { NodeHostOptions } from "../index.ts";
import type { Refusal } from "../node-socket.ts";
import { type Connection, connect } from "./connection.ts";
import { TransferDirectory } from "./transfer-directory.ts";
import { type HostContext, isSame, type Target, targetOf } from "./gateway-address.ts";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** A connection that held this long resets the back-off. */
const STEADY_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

/** Resolves with the first connection; the later ones are made in the background until the plugin ends. */
export async function startHost(parts: HostContext, options: NodeHostOptions): Promise<void> {
  const { ctx, onConfig } = parts;
  const { say } = options;
  const { tmp } = ctx.paths;
  const directories = {
    uploads: new TransferDirectory(tmp, "uploads/from-gateway", DAY_MS),
    outgoing: new TransferDirectory(tmp, "to-gateway", 7 * DAY_MS),
  };
  // No page of an earlier process is left that could read them.
  await directories.uploads.clear();
  let failures = 0;

  /** Rejects where the gateway refuses a node that was never connected, or the settings cannot be right. */
  async function once(isFirst: boolean): Promise<Connection | undefined> {
    let target: Target | undefined;
    try {
      target = await targetOf(parts, options);
      return await connect(parts, target, directories);
    } catch (error) {
      if (ctx.signal.aborted) return undefined;
      const problem = explain(error, target);
      if (problem.isFinal && isFirst) throw problem.error;
      say(problem.error.message);
      return undefined;
    }
  }

  /** Tries until there is one; none when the plugin ends. */
  async function next(isFirst: boolean, atOnce: boolean): Promise<Connection | undefined> {
    for (let isNow = atOnce; !ctx.signal.aborted; isNow = false) {
      if (!isNow) {
        const delay = backOff(failures++);
        say(`Retrying in ${(delay / 1000).toFixed(1)} s.`);
        await pause(delay, parts);
        if (ctx.signal.aborted) return undefined;
      }
      const connection = await once(isFirst);
      if (connection !== undefined) return connection;
    }
    return undefined;
  }

  async function keep(first: Connection | undefined): Promise<void> {
    for (let connection = first; connection !== undefined; ) {
      const { target, closed, close } = connection;
      say(`Connected to ${target.shown} as ${target.name}.`);
      const since = Date.now();
      let hasMoved = false;
      const follow = (now: Target): void => {
        if (isSame(now, target)) return;
        hasMoved = true;
        close("the node's settings have changed");
      };
      const look = (): void =>
        void targetOf(parts, options).then(follow, (error) => say(error.message));
      const unlisten = onConfig(look);
      look(); // they may have changed while it connected
      const { code, reason } = await closed;
      unlisten();
      if (ctx.signal.aborted) return;
      if (hasMoved || Date.now() - since > STEADY_MS) failures = 0;
      say(
        `The connection to ${target.shown} ended${reason === "" ? ` (${code})` : `: ${reason}`}.`,
      );
      connection = await next(false, hasMoved);
    }
  }

  void keep(await next(true, true));
}

/** Codes of Node's for a certificate: self-signed, of an unknown authority, expired, of another name. */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|HOSTNAME_MISMATCH/;

/** A hint where the gateway may use TLS and the node's address does not say so, or the other way round. */
function schemeHint({ url }: Target, reason: string): string {
  if (url.startsWith("ws:")) return reason === "ECONNRESET" ? " It may accept https only." : "";
  return /WRONG_VERSION|EPROTO/.test(reason) ? " It may accept http only." : "";
}

/** What went wrong, for the person who must act. `isFinal`: trying again cannot help. */
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

/** There was no answer that could be understood. */
function explainFailure(cause: NodeJS.ErrnoException, target: Target): Problem {
  const reason = cause.code ?? cause.message;
  const gateway = target.shown;
  if (UNTRUSTED.test(reason))
    return { error: errors.untrustedCertificate({ gateway, reason }, { cause }), isFinal: true };
  const hint = schemeHint(target, reason);
  return {
    error: errors.gatewayUnreachable({ gateway, reason, hint }, { cause }),
    isFinal: false,
  };
}

function explainRefusal({ status, message }: Refusal, target: Target, cause: unknown): Problem {
  const { shown: gateway, name } = target;
  const final = (error: PorticoError): Problem => ({ error, isFinal: true });
  switch (status) {
    case 401:
      return final(errors.tokenRefused({ gateway }, { cause }));
    case 426: {
      const reason = message || "Update the older of the two.";
      return final(errors.versionRefused({ gateway, reason }, { cause }));
    }
    case 409: {
      const reason = message || "Choose another with --name.";
      return final(errors.nameRefused({ gateway, name, reason }, { cause }));
    }
    case 404:
      return final(errors.notAGateway({ gateway }, { cause }));
    case 400:
    case 403:
      return final(errors.nodeRefused({ gateway, reason: message ?? "" }, { cause }));
    default: {
      const reason = message || `It answered ${status}.`;
      return { error: errors.gatewayNotReady({ gateway, reason }), isFinal: false };
    }
  }
}

/** Doubling, with half of it left to chance: nodes of a gateway that comes back do not all come at once. */
function backOff(failures: number): number {
  const whole = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return whole / 2 + (Math.random() * whole) / 2;
}

/** Ends early where the settings change, or the plugin ends. */
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
