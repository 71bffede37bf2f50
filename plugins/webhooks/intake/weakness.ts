/** Detects signing secrets that can be guessed. */

/** The part of a mapping's `verify` that holds secrets. */
interface Signing {
  scheme?: string | { hmac: SecretHolder } | undefined;
  hmac?: SecretHolder | undefined;
  secret?: string | string[] | undefined;
}

interface SecretHolder {
  secret?: string | string[] | undefined;
}

const MIN_KEY_BYTES = 16;

/** Returns why a secret can be guessed (it is empty, or a key of a few bytes), or `undefined` for a good one. */
export function findWeakness(secret: string, scheme: string | undefined): string | undefined {
  const [, prefix, rest = ""] = /^(whsec_|whpk_)?(.*)$/s.exec(secret.trim()) ?? [];
  if (rest === "") return "is empty. Set the secret that the sender signs with.";
  if (prefix === undefined && scheme !== "standard") return undefined;
  const bytes = Buffer.from(rest, "base64").length;
  if (prefix === "whpk_")
    return bytes === 32 ? undefined : "is not an Ed25519 key: write whpk_ and 32 bytes in Base64.";
  // Stripe's secrets also begin with whsec_, but are not Base64.
  if (scheme !== "standard" && scheme !== "gitlab") return undefined;
  if (bytes >= MIN_KEY_BYTES) return undefined;
  return `has a key of ${bytes} bytes in Base64. A key must have at least ${MIN_KEY_BYTES} bytes.`;
}

/** Returns the effective secrets: those next to the scheme replace those inside it. */
export function selectSecrets({ secret, hmac, scheme }: Signing): string[] {
  const holder = hmac ?? (typeof scheme === "object" ? scheme?.hmac : undefined);
  return [secret ?? holder?.secret ?? []].flat();
}

/**
 * Implements `refuse` of the schema, which passes a value of any type. It ignores blank secrets, since the configuration
 * reports these itself, with the variable that is empty.
 */
export function findWeakSecret(config: unknown): string | undefined {
  if (typeof config !== "object" || config === null) return undefined;
  const { scheme } = config as Signing;
  const problems = selectSecrets(config as Signing)
    .filter((secret) => typeof secret === "string" && secret.trim() !== "")
    .map((secret) => findWeakness(secret, typeof scheme === "string" ? scheme : undefined));
  const problem = problems.find(Boolean);
  return problem && `has a secret that ${problem}`;
}
