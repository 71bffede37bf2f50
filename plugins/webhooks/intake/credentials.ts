/** Who is calling: a token, a named key, or a sender whose signature fits. */
import type { IncomingMessage } from "node:http";
import { bearerOf, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import type { Signed } from "./signatures.ts";

/** What the tokens of a request's headers say. */
export interface Presented {
  credential?: Credential | undefined;
  /** Why it is refused, where one was sent. */
  problem?: string | undefined;
}

/** Throws `forbidden` for an address that is not in `webhooks.allowedIps`. */
export function checkAddress({ allowedIps }: Settings, address: string): void {
  if (!allowedIps || allowedIps.contains(address)) return;
  throw errors.addressNotAllowed();
}

/** Looks at `Authorization: Bearer` and `x-service-token`, never at the query. */
export function presentedToken(settings: Settings, req: IncomingMessage): Presented {
  const authorization = headerOf(req, "authorization");
  const service = headerOf(req, "x-service-token");
  if (authorization === undefined && service === undefined) return {};
  if (authorization === TWICE || service === TWICE)
    return { problem: "The request contains a credential header twice. Send it once." };
  const bearer = authorization && bearerOf(authorization);
  const credential = credentialOf(settings, service) ?? credentialOf(settings, bearer);
  if (credential) return { credential };
  return {
    problem:
      "The token is wrong. Send the webhook token as `Authorization: Bearer <token>` or `x-service-token`, without white space around it.",
  };
}

/** The credential of a mapping that checks signatures. */
export function presentedSignature(
  mapping: Mapping,
  { wire, ...signed }: Signed & { wire: Buffer | undefined },
): Presented {
  const { verifier, credential } = mapping;
  const problem = verifier?.problem(signed);
  if (problem === undefined) return { credential };
  // Senders that compress sign either the body or the bytes that they send.
  const isWireSigned =
    wire !== undefined && verifier?.problem({ ...signed, body: wire }) === undefined;
  return isWireSigned ? { credential } : { problem };
}

/** Goes with every 401. */
export const CHALLENGE = { headers: { "www-authenticate": 'Bearer realm="portico webhooks"' } };

/** 401 for a caller whom nothing has identified. */
export function unauthorized(problem: string | undefined): PorticoError {
  return problem === undefined
    ? errors.credentialsMissing(CHALLENGE)
    : errors.credentialsWrong({ problem }, CHALLENGE);
}

function credentialOf({ tokens }: Settings, token: string | undefined): Credential | undefined {
  if (token === undefined || /[ \t]/.test(token)) return undefined;
  let credential: Credential | undefined;
  // all are compared, so that the time does not tell which one it was
  for (const known of tokens) if (known.secret.equals(token)) credential = known.credential;
  return credential;
}

const TWICE = Symbol();

function headerOf(
  { rawHeaders }: IncomingMessage,
  name: string,
): string | typeof TWICE | undefined {
  let value: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string;
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (value !== undefined) return TWICE;
    value = rawHeaders[i + 1];
  }
  return value;
}
