/** Versions as entity tags, and the `If-Match` condition of a change. */
import type { Call } from "portico";
import { errors } from "./errors.ts";

export const versionTag = (version: string): string => `"${version}"`;

/**
 * Returns the versions that `If-Match` names. Weak tags count, because a compressing proxy turns strong tags into weak ones.
 * `source` names the route that returns versions. Throws `precondition_required` if the header is missing, and
 * `invalid_request_error` if it names no version.
 */
export function expectedVersions({ req }: Pick<Call, "req">, source: string): string[] {
  const header = req.headers["if-match"];
  if (header === undefined) throw errors.versionMissing({ source });
  if (header.trim() === "*") return ["*"];
  const versions = [...header.matchAll(/(?:W\/)?"([^"]*)"/g)].map(([, version]) => version ?? "");
  if (versions.length > 0) return versions;
  throw errors.versionUnreadable({ param: "If-Match" });
}
