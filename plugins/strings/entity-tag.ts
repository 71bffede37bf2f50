/** Versions as entity tags, and the condition that a change carries: `If-Match`. */
import type { Call } from "portico";
import { errors } from "./errors.ts";

export const versionTag = (version: string): string => `"${version}"`;

/**
 * The versions that `If-Match` names. Weak tags count: a proxy that compresses makes them of strong ones. `source` says
 * where a version can be read. Throws `precondition_required` where the header is missing, and `invalid_request_error`
 * where it names no version.
 */
export function expectedVersions({ req }: Pick<Call, "req">, source: string): string[] {
  const header = req.headers["if-match"];
  if (header === undefined) throw errors.versionMissing({ source });
  if (header.trim() === "*") return ["*"];
  const versions = [...header.matchAll(/(?:W\/)?"([^"]*)"/g)].map(([, version]) => version ?? "");
  if (versions.length > 0) return versions;
  throw errors.versionUnreadable({ param: "If-Match" });
}
