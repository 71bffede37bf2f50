/** Lets a caller in, or answers 401, 403 or 429. */
import type { Throttle } from "portico";
import { errors } from "../errors.ts";
import {
  checkAddress,
  type Presented,
  presentedSignature,
  presentedToken,
  unauthorized,
} from "./credentials.ts";
import type { Credential, Mapping, Settings } from "../settings.ts";
import type { Visit } from "./visit.ts";

export interface Admission {
  credential: Credential;
  /** Whose signature fits. */
  mapping?: Mapping | undefined;
  /** Which mappings this opens. */
  allowed: (mapping: Mapping) => boolean;
}

/** Who sends something, and what that opens. Throws `unauthorized`, `forbidden`, `too_many_attempts`. */
export function identify(visit: Visit, refusals: Throttle): Admission {
  const { call, settings, target, headers } = visit;
  const token = presentedToken(settings, call.req);
  const { raw = Buffer.alloc(0), wire } = visit;
  const signed = { headers, body: raw, wire, now: Date.now() };
  if (target.kind === "mapping" && target.mapping.verifier) {
    const { mapping } = target;
    const { credential: known, problem } = presentedSignature(mapping, signed);
    const hint =
      visit.raw === undefined
        ? " The body could not be decompressed, so its signature cannot be checked. Send it uncompressed."
        : "";
    const credential = admitted(
      visit,
      { credential: known, problem: problem && problem + hint },
      refusals,
    );
    return { credential, mapping, allowed: () => true };
  }
  checkAddress(settings, call.address);
  const verified = target.kind === "root" ? signedMappings(settings, signed) : [];
  const [mapping] = verified;
  if (mapping && !token.credential) {
    return {
      credential: mapping.credential,
      mapping,
      allowed: (candidate) => verified.includes(candidate),
    };
  }
  const credential = admitted(visit, token, refusals);
  const path = target.kind === "root" ? "" : target.path;
  const allowed = (candidate: Mapping) =>
    candidate.verifier
      ? verified.includes(candidate)
      : credential.allows("") || credential.allows(candidate.name);
  if (target.kind !== "root" && !credential.allows(path)) {
    throw errors.pathNotAllowed();
  }
  return { credential, allowed, mapping };
}

function signedMappings(
  { mappings }: Settings,
  signed: Parameters<typeof presentedSignature>[1],
): Mapping[] {
  return [...mappings.values()].filter(
    (mapping) =>
      mapping.verifier && mapping.match && presentedSignature(mapping, signed).credential,
  );
}

/** A wrong credential counts against its address; a right one always passes. */
export function admitted(
  visit: Visit,
  { credential, problem }: Presented,
  refusals: Throttle,
): Credential {
  checkAddress(visit.settings, visit.call.address);
  if (credential) return credential;
  if (problem !== undefined) {
    const tooMany = refusals.fail(visit.call.address);
    visit.limit = refusals.look(visit.call.address);
    if (tooMany) throw tooMany;
  }
  throw unauthorized(problem);
}
