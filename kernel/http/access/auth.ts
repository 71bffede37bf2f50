/** Identifies the client of a request: the owner (token or password), a client key, or no credential. */
import type { IncomingMessage } from "node:http";
import type { KernelConfig } from "../../config/schema.ts";
import { isPorticoError, type PorticoError } from "../../errors.ts";
import type { Access, Authenticator, Call, Client, Logger } from "../../contract/index.ts";
import { errors } from "../errors.ts";
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

/**
 * The sender of a request. Its address is only read after a failure. `client` is set as soon as the credential is
 * identified, also if it is not allowed to do this.
 */
type Caller = Pick<Call, "address"> & { client?: Client };

/** A client without credentials. */
export const ANONYMOUS: Client = Object.freeze({ kind: "anonymous" });
const OWNER: Client = Object.freeze({ kind: "owner" });

const BEARER = 'Bearer realm="portico"';
const BASIC = 'Basic realm="portico", charset="UTF-8"';

type Refusal = typeof errors.credentialsWrong;

/** The kind of credential in a request: the owner's, none, or a token that may be a client key. */
type Verdict = { kind: "owner" } | { kind: "none" } | { kind: "token"; token: string };

const IS_OWNER: Verdict = { kind: "owner" };
const NONE: Verdict = { kind: "none" };

/** The header that an access accepts in addition to `Authorization`. */
const OTHER_HEADERS: Partial<Record<Access, "x-api-key" | "x-service-password">> = {
  client: "x-api-key",
  control: "x-service-password",
};

export class Auth {
  readonly #settings: () => AuthSettings;
  readonly #authenticators: () => readonly Authenticator[];
  readonly #log: Logger;
  readonly #throttle: Throttle;
  readonly #token = createSecretCache();
  readonly #password = createSecretCache();

  constructor({ settings, authenticators, log, throttle = createThrottle() }: AuthOptions) {
    this.#settings = settings;
    this.#authenticators = authenticators;
    this.#log = log;
    this.#throttle = throttle;
  }

  /**
   * Returns the client of a request: synchronously if the credential is the owner's; otherwise the authenticators
   * decide. Throws (or rejects with) `unauthorized`, `too_many_attempts`, or `forbidden` for a client key on a route of
   * the owner.
   */
  authenticate(req: IncomingMessage, access: Access, caller: Caller): Client | Promise<Client> {
    if (access === "public" || access === "own") return ANONYMOUS;
    if (occursTwice(req.rawHeaders, "authorization"))
      throw this.#refusal(access, caller, errors.credentialsTwice);
    const verdict = this.#check(req, access);
    if (verdict.kind === "owner") return OWNER;
    if (verdict.kind === "token" && this.#authenticators().length > 0)
      return this.#askAuthenticators(req, access, caller, verdict.token);
    const isPresent = (req.headers.authorization ?? readOtherHeader(req, access)) !== undefined;
    if (isPresent) throw this.#refusal(access, caller, errors.credentialsWrong);
    throw errors.credentialsMissing({ headers: createChallenge(access) });
  }

  #check(req: IncomingMessage, access: Access): Verdict {
    const { authorization } = req.headers;
    const header = readOtherHeader(req, access);
    if (access === "control" && typeof header === "string" && this.#isPassword(header))
      return IS_OWNER;
    if (authorization !== undefined) return this.#checkAuthorization(authorization, access);
    if (access !== "client" || typeof header !== "string") return NONE;
    return header === "" || /[ \t]/.test(header) ? NONE : this.#checkToken(header);
  }

  #checkAuthorization(authorization: string, access: Access): Verdict {
    const bearer = bearerOf(authorization);
    if (bearer !== undefined) return this.#checkToken(bearer);
    const isOwner = access === "control" && this.#isPassword(readBasicPassword(authorization));
    return isOwner ? IS_OWNER : NONE;
  }

  #checkToken(token: string): Verdict {
    const { token: ownersToken } = this.#settings();
    const isOwner = ownersToken ? this.#token(ownersToken).equals(token) : this.#isPassword(token);
    return isOwner ? IS_OWNER : { kind: "token", token };
  }

  #isPassword(text: string): boolean {
    return this.#password(this.#settings().password).equals(text);
  }

  async #askAuthenticators(
    req: IncomingMessage,
    access: Access,
    caller: Caller,
    token: string,
  ): Promise<Client> {
    let hasFailed = false;
    for (const authenticator of this.#authenticators()) {
      try {
        const client = await authenticator.authenticate(token, req, caller);
        if (!client) continue;
        // This comes before the refusal, so that the log and change watchers name the client.
        caller.client = client;
        return requireAccess(client, access);
      } catch (error) {
        if (isPorticoError(error)) throw error;
        this.#log.error(
          { err: error, authenticator: authenticator.name },
          "an authenticator failed",
        );
        hasFailed = true;
      }
    }
    // The credential may be right as long as an authenticator that might know it is broken.
    if (hasFailed) throw errors.credentialsUncheckable();
    throw this.#refusal(access, caller, errors.credentialsWrong);
  }

  /** Counts a failure of this caller, and returns the error to throw. */
  #refusal(access: Access, { address }: Caller, refusal: Refusal): PorticoError {
    return this.#throttle.fail(address) ?? refusal({ headers: createChallenge(access) });
  }
}

function readOtherHeader(
  { headers }: IncomingMessage,
  access: Access,
): string | string[] | undefined {
  const name = OTHER_HEADERS[access];
  return name === undefined ? undefined : headers[name];
}

function createChallenge(access: Access): Record<string, string> {
  return { "www-authenticate": access === "control" ? `${BEARER}, ${BASIC}` : BEARER };
}

/** Throws `forbidden` for a client key on a route of the owner. */
function requireAccess(client: Client, access: Access): Client {
  if (client.kind === "owner" || access === "client") return client;
  throw errors.ownersOnly();
}

/** The token of `Bearer <token>`; undefined for another scheme or white space around the token. */
export function bearerOf(authorization: string): string | undefined {
  return /^bearer [^ \t]+$/i.test(authorization) ? authorization.slice(7) : undefined;
}

/** Returns the password of `Basic <credentials>`; "", which no secret equals, if there is none. */
function readBasicPassword(authorization: string): string {
  const encoded = /^basic ([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1] ?? "";
  return /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1] ?? "";
}

/** Whether a header occurs twice. Node keeps the first silently, while a proxy in front may have read the last. */
export function occursTwice(rawHeaders: readonly string[], name: string): boolean {
  let hasOccurred = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string;
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (hasOccurred) return true;
    hasOccurred = true;
  }
  return false;
}

/** Returns a function that derives the secret again only when the text has changed. */
function createSecretCache(): (text: string | undefined) => Secret {
  let latest: { text: string; secret: Secret } | undefined;
  return (text = "") => {
    if (latest?.text !== text) latest = { text, secret: secretOf(text) };
    return latest.secret;
  };
}
