/** What the log must not show: by key what is named a secret, by value what slipped into a message or an error. */
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
/** How deep fields are looked through for secrets. */
const redactDepth = 3;
const REDACTED = "[redacted]";
/** Anything shorter would be found where it is no secret. */
const shortest = 6;
const jsonString = /"(?:[^"\\]|\\.)*"/g;

/** The fields with the values of secret keys replaced; the very same object where there are none. */
export function redactKeys(
  fields: Record<string, unknown>,
  depth = redactDepth,
): Record<string, unknown> {
  let maskedFields = fields;
  for (const key in fields) {
    const value = fields[key];
    let safe = value;
    if (secretKeys.has(key)) safe = value === undefined ? undefined : REDACTED;
    // Errors have a serializer of their own, and what has `toJSON` says itself what it shows.
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
  /** A secret → as it stands inside a string of JSON. */
  const written = new Map<string, string>();
  /** From now on; texts of fewer than six characters are left out. */
  const add = (secret: string): void => {
    if (secret.length >= shortest) written.set(secret, JSON.stringify(secret).slice(1, -1));
  };
  for (const secret of secrets) add(secret);

  // Only the decoded text can be cut safely: a match in the encoded one may begin within an escape.
  function hideIn(quoted: string): string {
    let text = JSON.parse(quoted) as string;
    // a longer one first: it may begin with another
    for (const secret of [...written.keys()].sort((a, b) => b.length - a.length))
      text = text.replaceAll(secret, REDACTED);
    return JSON.stringify(text);
  }

  return {
    add,
    /** JSON text with the secrets in its strings replaced; numbers that look like one stay numbers. */
    hide(json: string): string {
      for (const text of written.values())
        if (json.includes(text)) return json.replace(jsonString, hideIn);
      return json;
    },
  };
}

/** A copy of what JSON can hold, without the secrets. */
export function withoutSecrets<T>(value: T, secrets: Iterable<string>): T {
  return JSON.parse(createRedaction(secrets).hide(JSON.stringify(value))) as T;
}

export type Redaction = ReturnType<typeof createRedaction>;
