/** Identifies the caller of a request, or refuses it with 401, 403 or 429. */
import type { Throttle } from "portico";
import { errors } from "../errors.ts";
import {
  checkAddress,
  type CredentialCheck,
  checkSignature,
  checkToken,
  unauthorizedError,
} from "./credentials.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import type { IncomingRequest } from "./incoming-request.ts";

export interface Admission {
  credential: Credential;
  /** The mapping whose signature is valid. */
  mapping?: Mapping | undefined;
  /** Returns whether the request may reach a mapping. */
  allowed: (mapping: Mapping) => boolean;
}

/** Identifies the caller and its rights. Throws `unauthorized`, `forbidden` or `too_many_attempts`. */
export function identify(incoming: IncomingRequest, refusals: Throttle): Admission {
  const { call, settings, target, headers } = incoming;
  const token = checkToken(settings, call.req);
  const { raw = Buffer.alloc(0), wire } = incoming;
  const signedRequest = { headers, body: raw, wire, now: Date.now() };
  if (target.kind === "mapping" && target.mapping.verifier) {
    const { mapping } = target;
    const check = checkSignature(mapping, signedRequest);
    const hint =
      incoming.raw === undefined
        ? " The body could not be decompressed, so its signature cannot be checked. Send it uncompressed."
        : "";
    const credential = requireCredential(
      incoming,
      { ...check, problem: check.problem && check.problem + hint },
      refusals,
    );
    return { credential, mapping, allowed: () => true };
  }
  checkAddress(settings, call.address);
  const verifiedMappings =
    target.kind === "root" ? findSignedMappings(settings, signedRequest) : [];
  const [mapping] = verifiedMappings;
  if (mapping && !token.credential) {
    return {
      credential: mapping.credential,
      mapping,
      allowed: (candidate) => verifiedMappings.includes(candidate),
    };
  }
  const credential = requireCredential(incoming, token, refusals);
  const path = target.kind === "root" ? "" : target.path;
  const allowed = (candidate: Mapping) =>
    candidate.verifier
      ? verifiedMappings.includes(candidate)
      : credential.allows("") || credential.allows(candidate.name);
  if (target.kind !== "root" && !credential.allows(path)) {
    throw errors.pathNotAllowed();
  }
  return { credential, allowed, mapping };
}

function findSignedMappings(
  { mappings }: Settings,
  signedRequest: Parameters<typeof checkSignature>[1],
): Mapping[] {
  return [...mappings.values()].filter(
    (mapping) =>
      mapping.verifier && mapping.match && checkSignature(mapping, signedRequest).credential,
  );
}

/** Returns a valid credential. Throws 403 for an address that may not call. A wrong credential counts against its address. */
export function requireCredential(
  incoming: IncomingRequest,
  { credential, problem }: CredentialCheck,
  refusals: Throttle,
): Credential {
  checkAddress(incoming.settings, incoming.call.address);
  if (credential) return credential;
  if (problem !== undefined) {
    const tooMany = refusals.fail(incoming.call.address);
    incoming.limit = refusals.look(incoming.call.address);
    if (tooMany) throw tooMany;
  }
  throw unauthorizedError(problem);
}
