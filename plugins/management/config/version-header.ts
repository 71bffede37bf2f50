/** The version of the configuration as an entity tag, and the condition that a write carries. */
import { type Call, PorticoError } from "portico";

export const versionTag = (version: string): string => `"${version}"`;

/**
 * The versions that `If-Match` names. Weak tags count: a proxy that compresses makes them of strong ones. Throws
 * `precondition_required` where the header is missing, and `invalid_request_error` where it names no version.
 */
export function expectedVersions({ req }: Pick<Call, "req">): string[] {
  const header = req.headers["if-match"];
  if (header === undefined)
    throw new PorticoError(
      "precondition_required",
      "Send the version that you read in If-Match: GET /kernel/config has it in its ETag.",
    );
  if (header.trim() === "*") return ["*"];
  const versions = [...header.matchAll(/(?:W\/)?"([^"]*)"/g)].map(([, version]) => version ?? "");
  if (versions.length > 0) return versions;
  throw new PorticoError(
    "invalid_request_error",
    'If-Match must hold an entity tag in quotes, as ETag has it: If-Match: "…".',
    { param: "If-Match" },
  );
}
