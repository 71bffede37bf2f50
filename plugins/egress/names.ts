/** Host names: one spelling, patterns, and names that say by their form where they lead. */
import { isIP } from "node:net";
import { parseUrl } from "portico/strings";

/** As it stands in `url.hostname`, but without brackets and trailing dots: `[::1]` → `::1`, `LOCALHOST.` → `localhost`. */
export function plainHost(host: string): string {
  const lower = host.toLowerCase();
  if (lower.startsWith("[") && lower.endsWith("]")) return lower.slice(1, -1);
  return lower.replace(/\.+$/, "");
}

/** Puts a name or pattern of the configuration into the spelling of `url.hostname` (punycode, folded digits). */
function plainPattern(pattern: string): string {
  const trimmed = pattern.trim();
  const wild = trimmed.startsWith("*.");
  const name = wild ? trimmed.slice(2) : trimmed;
  const bracketed = isIP(name) === 6 ? `[${name}]` : name;
  const url = parseUrl(`http://${bracketed}/`);
  return (wild ? "*." : "") + plainHost(url?.hostname ?? name);
}

/** `example.com` is that name only, `*.example.com` every name below it (not itself), `*` everything. */
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

/** What a name is by its form alone; `undefined` where only the resolver can tell. */
export function nameKind(host: string): "metadata" | "private" | undefined {
  if (METADATA_NAMES.has(host) || host.endsWith(".metadata.google.internal")) return "metadata";
  if (!host.includes(".") || PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix)))
    return "private";
  return undefined;
}
