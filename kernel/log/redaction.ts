/** Redacts secrets from the log: by key in fields, and by value in messages and errors. */
const secretKeys = new Set([
  "token",
  "password",
  "apiKey",
  "secret",
  "authorization",
  "cookie",
  "x-api-key",
  "x-service-token",
  "x-service-password",
]);
/** The depth to which fields are searched for secrets. */
const redactDepth = 3;
const REDACTED = "[redacted]";
/** Shorter secrets would also match text that is not secret. */
const MIN_SECRET_LENGTH = 6;
const jsonString = /"(?:[^"\\]|\\.)*"/g;

/** Returns the fields with the values of secret keys replaced; the same object if there are none. */
export function redactKeys(
  fields: Record<string, unknown>,
  depth = redactDepth,
): Record<string, unknown> {
  let maskedFields = fields;
  for (const key in fields) {
    const value = fields[key];
    let safe = value;
    if (secretKeys.has(key)) safe = value === undefined ? undefined : REDACTED;
    // Errors have their own serializer, and objects with `toJSON` decide themselves what they show.
    else if (depth > 1 && isPlain(value)) safe = redactKeys(value, depth - 1);
    if (safe === value) continue;
    if (maskedFields === fields) maskedFields = { ...fields };
    maskedFields[key] = safe;
  }
  return maskedFields;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function createRedaction(secrets: Iterable<string> = []) {
  /** Maps each secret to its form inside a JSON string. */
  const encodedSecrets = new Map<string, string>();
  /** Redacts a secret from now on. Ignores texts of fewer than six characters. */
  const add = (secret: string): void => {
    if (secret.length >= MIN_SECRET_LENGTH)
      encodedSecrets.set(secret, JSON.stringify(secret).slice(1, -1));
  };
  for (const secret of secrets) add(secret);

  // Only the decoded text can be replaced safely: a match in the encoded one may begin within an escape.
  function hideIn(quoted: string): string {
    let text = JSON.parse(quoted) as string;
    // Longer secrets come first, because they may contain shorter ones.
    for (const secret of [...encodedSecrets.keys()].sort((a, b) => b.length - a.length))
      text = text.replaceAll(secret, REDACTED);
    return JSON.stringify(text);
  }

  return {
    add,
    /** Replaces the secrets in the strings of a JSON text. Numbers stay numbers, even if they look like a secret. */
    hide(json: string): string {
      for (const text of encodedSecrets.values())
        if (json.includes(text)) return json.replace(jsonString, hideIn);
      return json;
    },
  };
}

/** Returns a JSON copy of the value with the secrets replaced. */
export function withoutSecrets<T>(value: T, secrets: Iterable<string>): T {
  return JSON.parse(createRedaction(secrets).hide(JSON.stringify(value))) as T;
}

export type Redaction = ReturnType<typeof createRedaction>;
