/** Checks the credentials of a caller: the token, a named key, or a signature. */
import type { IncomingMessage } from "node:http";
import { bearerOf, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import type { SignedRequest } from "./signatures.ts";

/** The credential of a request, or the problem with it. Both are absent if the request has none. */
export interface CredentialCheck {
  credential?: Credential | undefined;
  /** The reason why the credential is refused. */
  problem?: string | undefined;
}

/** Throws `forbidden` for an address that is not in `webhooks.allowedIps`. */
export function checkAddress({ allowedIps }: Settings, address: string): void {
  if (!allowedIps || allowedIps.contains(address)) return;
  throw errors.addressNotAllowed();
}

/** Checks the token in `Authorization: Bearer` or `x-service-token`, never one in the query. */
export function checkToken(settings: Settings, req: IncomingMessage): CredentialCheck {
  const authorization = getHeader(req, "authorization");
  const service = getHeader(req, "x-service-token");
  if (authorization === undefined && service === undefined) return {};
  if (authorization === DUPLICATE || service === DUPLICATE)
    return { problem: "The request contains a credential header twice. Send it once." };
  const bearer = authorization && bearerOf(authorization);
  const credential = findCredential(settings, service) ?? findCredential(settings, bearer);
  if (credential) return { credential };
  return {
    problem:
      "The token is wrong. Send the webhook token as `Authorization: Bearer <token>` or `x-service-token`, without white space around it.",
  };
}

/** Checks the signature of a request for a mapping that verifies signatures. */
export function checkSignature(
  mapping: Mapping,
  { wire, ...signed }: SignedRequest & { wire: Buffer | undefined },
): CredentialCheck {
  const { verifier, credential } = mapping;
  const problem = verifier?.problem(signed);
  if (problem === undefined) return { credential };
  // Senders that compress sign either the body or the bytes that they send.
  const isWireSigned =
    wire !== undefined && verifier?.problem({ ...signed, body: wire }) === undefined;
  return isWireSigned ? { credential } : { problem };
}

/** The header of every response with status 401. */
export const CHALLENGE = { headers: { "www-authenticate": 'Bearer realm="portico webhooks"' } };

/** Creates the error 401 for a caller without valid credentials. */
export function unauthorizedError(problem: string | undefined): PorticoError {
  return problem === undefined
    ? errors.credentialsMissing(CHALLENGE)
    : errors.credentialsWrong({ problem }, CHALLENGE);
}

function findCredential({ tokens }: Settings, token: string | undefined): Credential | undefined {
  if (token === undefined || /[ \t]/.test(token)) return undefined;
  let credential: Credential | undefined;
  // This compares all tokens, so that the time does not reveal which one matched.
  for (const entry of tokens) if (entry.secret.equals(token)) credential = entry.credential;
  return credential;
}

const DUPLICATE = Symbol();

function getHeader(
  { rawHeaders }: IncomingMessage,
  name: string,
): string | typeof DUPLICATE | undefined {
  let value: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string;
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (value !== undefined) return DUPLICATE;
    value = rawHeaders[i + 1];
  }
  return value;
}
