/** The token check of our servers that authenticate by themselves. It limits guessing. */
import type { IncomingMessage } from "node:http";
import { bearerOf, createThrottle, occursTwice, type PorticoError } from "portico";

export interface TokenCheckOptions {
  /** Compares a token with the accepted ones in constant time. */
  accepts(candidate: string): boolean;
  /** Creates the error for a request without a valid token. */
  refusal(options: { headers: Record<string, string> }): PorticoError;
  /** The value of the `WWW-Authenticate` header. */
  challenge: string;
}

/**
 * Throws a 401 `unauthorized` for a wrong token, a 429 `too_many_attempts` for an address that has guessed too often.
 */
export type TokenCheck = (req: IncomingMessage, token: string | undefined) => void;

export function createTokenCheck({ accepts, refusal, challenge }: TokenCheckOptions): TokenCheck {
  const failures = createThrottle();
  return (req, token) => {
    const isAmbiguous = occursTwice(req.rawHeaders, "authorization");
    if (token && !isAmbiguous && accepts(token)) return;
    const throttleError = token ? failures.fail(req.socket.remoteAddress ?? "") : undefined;
    throw throttleError ?? refusal({ headers: { "www-authenticate": challenge } });
  };
}

/**
 * Returns the token of a request: the bearer token, the password of any Basic user, or (without that header) `?token=`.
 */
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
