/** Who a request comes from: the owner (token or password), a client key, or nobody. */
import type { IncomingMessage } from "node:http";
import type { KernelConfig } from "../../config/schema.ts";
import { isPorticoError, PorticoError } from "../../errors.ts";
import type { Access, Authenticator, Call, Client, Logger } from "../../contract/index.ts";
import { type Secret, secretOf } from "./secret.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

export type AuthSettings = KernelConfig["gateway"]["auth"];

export interface AuthOptions {
  settings: () => AuthSettings;
  authenticators: () => readonly Authenticator[];
  log: Logger;
  /** Failures by address; default 20 in 60 s. */
  throttle?: Throttle;
}

/** Its address is only looked at after a failure. Where a credential is known but may not do this, `client` says whose it is. */
type Caller = Pick<Call, "address"> & { client?: Client };

/** Nobody in particular. */
export const ANONYMOUS: Client = Object.freeze({ kind: "anonymous" });
const OWNER: Client = Object.freeze({ kind: "owner" });

const BEARER = 'Bearer realm="portico"';
const BASIC = 'Basic realm="portico", charset="UTF-8"';

const MISSING =
  "Credentials are missing. Send the gateway's token as `Authorization: Bearer <token>`.";
const WRONG =
  "The credentials are wrong. Send the gateway's token as `Authorization: Bearer <token>`, without white space around it.";

export type Auth = ReturnType<typeof createAuth>;

export function createAuth(options: AuthOptions) {
  const { settings, authenticators, log } = options;
  const throttle = options.throttle ?? createThrottle();
  const token = latestSecret();
  const password = latestSecret();

  function refuse(access: Access, { address }: Caller, why: string): PorticoError {
    const tooMany = why === MISSING ? undefined : throttle.fail(address);
    if (tooMany) return tooMany;
    const challenge = access === "control" ? `${BEARER}, ${BASIC}` : BEARER;
    const headers = { "www-authenticate": challenge };
    return new PorticoError("unauthorized", why, { headers, type: "authentication_error" });
  }

  function isOwner(credential: string, set: AuthSettings): boolean {
    return set.token
      ? token(set.token).equals(credential)
      : password(set.password).equals(credential);
  }

  /** True, false, or the bearer token (for client keys also `x-api-key`) that is not the owner's. */
  function checkOwner(req: IncomingMessage, access: Access): boolean | string {
    const { authorization } = req.headers;
    const set = settings();
    const header = access === "control" ? req.headers["x-service-password"] : undefined;
    if (typeof header === "string" && password(set.password).equals(header)) return true;
    if (authorization !== undefined) {
      const bearer = bearerOf(authorization);
      if (bearer !== undefined) return isOwner(bearer, set) || bearer;
      if (access !== "control") return false;
      return password(set.password).equals(basicPasswordOf(authorization));
    }
    const apiKey = access === "client" ? req.headers["x-api-key"] : undefined;
    return (
      typeof apiKey === "string" &&
      apiKey !== "" &&
      !/[ \t]/.test(apiKey) &&
      (isOwner(apiKey, set) || apiKey)
    );
  }

  async function askAuthenticators(
    req: IncomingMessage,
    access: Access,
    caller: Caller,
    bearer: string,
  ) {
    let failure: unknown;
    for (const authenticator of authenticators()) {
      try {
        const client = await authenticator.authenticate(bearer, req, caller);
        if (!client) continue;
        if (client.kind === "owner" || access === "client") return client;
        caller.client = client;
        throw new PorticoError(
          "forbidden",
          "A client key may not do this: use the gateway's own token.",
          {
            type: "permission_error",
          },
        );
      } catch (error) {
        if (isPorticoError(error)) throw error;
        log.error({ err: error, authenticator: authenticator.name }, "an authenticator failed");
        failure = error;
      }
    }
    // Nobody can say that the credential is wrong while one of those who might know it is broken.
    if (failure)
      throw new PorticoError(
        "service_unavailable",
        "Credentials cannot be checked at the moment. Try again later.",
      );
    throw refuse(access, caller, WRONG);
  }

  return {
    /**
     * The client behind a request: at once where the credential is the owner's; the authenticators are asked otherwise.
     * Throws (or rejects with) `unauthorized`, `too_many_attempts`, or `forbidden` for a client key on a route of the
     * owner's.
     */
    authenticate(req: IncomingMessage, access: Access, caller: Caller): Client | Promise<Client> {
      if (access === "public" || access === "own") return ANONYMOUS;
      if (occursTwice(req.rawHeaders, "authorization"))
        throw refuse(access, caller, "The request has two Authorization headers. Send one.");
      const verdict = checkOwner(req, access);
      if (verdict === true) return OWNER;
      if (typeof verdict === "string" && authenticators().length > 0)
        return askAuthenticators(req, access, caller, verdict);
      const others: Partial<Record<Access, string>> = {
        client: "x-api-key",
        control: "x-service-password",
      };
      const presented = req.headers.authorization ?? req.headers[others[access] ?? ""];
      throw refuse(access, caller, presented === undefined ? MISSING : WRONG);
    },
  };
}

/** The token of `Bearer <token>`; undefined for another scheme or white space around the token. */
export function bearerOf(authorization: string): string | undefined {
  return /^bearer [^ \t]+$/i.test(authorization) ? authorization.slice(7) : undefined;
}

/** "" where there is none, which no secret equals. */
function basicPasswordOf(authorization: string): string {
  const encoded = /^basic ([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1] ?? "";
  return /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1] ?? "";
}

/** Node keeps the first of several such headers silently; a proxy in front may have looked at the last. */
export function occursTwice(rawHeaders: readonly string[], name: string): boolean {
  let seen = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string;
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/** Derived again when the configuration has another one. */
function latestSecret(): (text: string | undefined) => Secret {
  let known: { text: string; secret: Secret } | undefined;
  return (text = "") => {
    if (known?.text !== text) known = { text, secret: secretOf(text) };
    return known.secret;
  };
}
