/** Signing secrets that anybody could guess. */

/** What a mapping's `verify` says of them. */
interface Signing {
  scheme?: string | { hmac: Holder } | undefined;
  hmac?: Holder | undefined;
  secret?: string | string[] | undefined;
}

interface Holder {
  secret?: string | string[] | undefined;
}

const LEAST_KEY_BYTES = 16;

/** What makes a secret one that anybody could guess: empty, or a key of a few bytes. */
export function weakness(secret: string, scheme: string | undefined): string | undefined {
  const [, prefix, rest = ""] = /^(whsec_|whpk_)?(.*)$/s.exec(secret.trim()) ?? [];
  if (rest === "") return "is empty. Set the secret that the sender signs with.";
  if (prefix === undefined && scheme !== "standard") return undefined;
  const bytes = Buffer.from(rest, "base64").length;
  if (prefix === "whpk_")
    return bytes === 32 ? undefined : "is not an Ed25519 key: write whpk_ and 32 bytes in Base64.";
  // Stripe's secrets begin alike, but are no Base64
  if (scheme !== "standard" && scheme !== "gitlab") return undefined;
  if (bytes >= LEAST_KEY_BYTES) return undefined;
  return `has a key of ${bytes} bytes in Base64. A key must have at least ${LEAST_KEY_BYTES} bytes.`;
}

/** Those that count: the ones beside the scheme come before its own. */
export function secretsOf({ secret, hmac, scheme }: Signing): string[] {
  const own = hmac ?? (typeof scheme === "object" ? scheme?.hmac : undefined);
  return [secret ?? own?.secret ?? []].flat();
}

/**
 * For the schema's `refuse`, which gets what the file says, of whatever type. Of blank ones the configuration tells
 * itself, with the variable that left them so.
 */
export function weakSecretIn(config: unknown): string | undefined {
  if (typeof config !== "object" || config === null) return undefined;
  const { scheme } = config as Signing;
  const problems = secretsOf(config as Signing)
    .filter((secret) => typeof secret === "string" && secret.trim() !== "")
    .map((secret) => weakness(secret, typeof scheme === "string" ? scheme : undefined));
  const problem = problems.find(Boolean);
  return problem && `has a secret that ${problem}`;
}
