/** Host names: normalisation, patterns, and names whose form shows that they are private. */
import { isIP } from "node:net";
import { parseUrl } from "portico/strings";

/**
 * Normalises the spelling of `url.hostname`: removes brackets and trailing dots (`[::1]` → `::1`, `LOCALHOST.` →
 * `localhost`).
 */
export function plainHost(host: string): string {
  const lower = host.toLowerCase();
  if (lower.startsWith("[") && lower.endsWith("]")) return lower.slice(1, -1);
  return lower.replace(/\.+$/, "");
}

/** Converts a name or pattern of the configuration to the spelling of `url.hostname` (punycode, folded digits). */
function plainPattern(pattern: string): string {
  const trimmed = pattern.trim();
  const isWildcard = trimmed.startsWith("*.");
  const name = isWildcard ? trimmed.slice(2) : trimmed;
  const bracketed = isIP(name) === 6 ? `[${name}]` : name;
  const url = parseUrl(`http://${bracketed}/`);
  return (isWildcard ? "*." : "") + plainHost(url?.hostname ?? name);
}

/**
 * Matches a host against patterns: `example.com` is that name only, `*.example.com` every name below it (not itself), `*`
 * every host.
 */
export function matchesHost(host: string, patterns: readonly string[]): boolean {
  return patterns.some((raw) => {
    const pattern = plainPattern(raw);
    if (pattern === "*") return true;
    return pattern.startsWith("*.")
      ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1
      : host === pattern;
  });
}

const METADATA_NAMES = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.azure.internal",
  "metadata.platformequinix.com",
  "instance-data",
  "instance-data.ec2.internal",
]);
const PRIVATE_SUFFIXES = [
  ".localhost",
  ".local",
  ".localdomain",
  ".internal",
  ".intranet",
  ".lan",
  ".home.arpa",
  ".corp",
];

export const isLoopbackName = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost");

/** Classifies a name by its form alone. Returns `undefined` if only its addresses can decide. */
export function nameKind(host: string): "metadata" | "private" | undefined {
  if (METADATA_NAMES.has(host) || host.endsWith(".metadata.google.internal")) return "metadata";
  if (!host.includes(".") || PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix)))
    return "private";
  return undefined;
}
