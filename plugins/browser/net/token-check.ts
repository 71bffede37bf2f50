/** Servers of ours that ask for a token by themselves: one check, with a limit to guessing. */
import type { IncomingMessage } from "node:http";
import { bearerOf, createThrottle, occursTwice, type PorticoError } from "portico";

export interface TokenCheckOptions {
  /** Compares in constant time. */
  accepts(given: string): boolean;
  /** The error for a request without the right token. */
  refusal(options: { headers: Record<string, string> }): PorticoError;
  /** `WWW-Authenticate` */
  challenge: string;
}

/** 401 `unauthorized` unless it is the token; 429 `too_many_attempts` for an address that has guessed too often. */
export type TokenCheck = (req: IncomingMessage, given: string | undefined) => void;

export function createTokenCheck({ accepts, refusal, challenge }: TokenCheckOptions): TokenCheck {
  const failures = createThrottle();
  return (req, given) => {
    const isAmbiguous = occursTwice(req.rawHeaders, "authorization");
    if (given && !isAmbiguous && accepts(given)) return;
    const tooMany = given ? failures.fail(req.socket.remoteAddress ?? "") : undefined;
    throw tooMany ?? refusal({ headers: { "www-authenticate": challenge } });
  };
}

/** The token of a request: as bearer, as the password of any user, or (where there is no such header) as `?token=`. */
export function tokenOf(req: IncomingMessage): string | undefined {
  const { authorization } = req.headers;
  if (authorization !== undefined) return bearerOf(authorization) ?? basicPasswordOf(authorization);
  return new URL(req.url ?? "/", "http://localhost").searchParams.get("token") ?? undefined;
}

function basicPasswordOf(authorization: string): string | undefined {
  const encoded = /^basic ([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  const pair = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  return pair.includes(":") ? pair.slice(pair.indexOf(":") + 1) : undefined;
}
