import type { TSchema } from "@sinclair/typebox";
import { type KeyPath, mapStrings } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";

/** The text that replaces a secret. */
export const MASK = "********";
// cspell:ignore passw ation entication
/** Words that mark a name as that of a secret. `author`, `authority` and `keyboard` do not. */
const WORDS =
  "token|passw(?:or)?d|passphrase|secret|(?:api|access|private)[-_]?key|auth(?:ori[sz]ation|entication)?(?![a-z])|cookie|credential|signature";
const SECRET_NAME = new RegExp(WORDS, "i");
// In our own settings, the end of the name decides (`tokenHeader` is no secret).
const SECRET_KEY = new RegExp(`(?:${WORDS})s?$`, "i");
/** Maps with arbitrary keys. */
export const FREE_NAMES = new Set(["headers", "env"]);
const URL_CREDENTIALS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#@]*@)/i;
const URL_SECRET_PARAMETER = /([?&](?:[^=&#]*(?:token|key|secret|password|auth)[^=&#]*)=)[^&#]+/gi;

const cachedResults = new Map<string, boolean>();

/** Whether the name of a field of any data (a payload, an event, a query) marks its value as a secret. */
export function isSecretName(name: string): boolean {
  // Results are cached, because the same headers come with every request.
  let isSecret = cachedResults.get(name);
  if (isSecret === undefined) {
    isSecret = SECRET_NAME.test(name);
    if (cachedResults.size < 1000 && name.length < 100) cachedResults.set(name, isSecret);
  }
  return isSecret;
}

/**
 * Whether the name of a header or an environment variable marks a secret. Such names are arbitrary, so a hint is enough
 * (`X-Key`).
 */
export const isSecretHeader = (name: string): boolean =>
  isSecretName(name) || /auth|key/i.test(name);

/** Whether a string at this path is a secret, by its name or because its schema has `secret: true`. */
function isSecretPath(path: KeyPath, schema?: TSchema): boolean {
  const names = path.filter((step) => typeof step === "string");
  const last = names.at(-1) ?? "";
  if (SECRET_KEY.test(last) || (/keys$/.test(names.at(-2) ?? "") && names.length > 2)) return true;
  if (FREE_NAMES.has(names.at(-2) ?? "") && isSecretHeader(last)) return true;
  return schema !== undefined && schemaAt(schema, path)?.["secret"] === true;
}

/** Masks the credentials of addresses in a text (before the host, and in the query). */
export function maskAddress(text: string): string {
  return text.replace(URL_CREDENTIALS, `$1${MASK}@`).replace(URL_SECRET_PARAMETER, `$1${MASK}`);
}

/**
 * Returns a copy of a part of the configuration with secrets masked, and the credentials in addresses. `at` is the path
 * of the part in the whole.
 */
export function maskSecrets(value: unknown, schema?: TSchema, at: KeyPath = []): unknown {
  return mapStrings(value, (text, path) => maskText(text, path, schema), [...at]);
}

/** Masks one text of the configuration if it is a secret, or the credentials in it. */
export function maskText(text: string, path: KeyPath, schema?: TSchema): string {
  return text !== "" && isSecretPath(path, schema) ? MASK : maskAddress(text);
}

/** Returns every secret in a configuration, for the log's redaction. */
export function collectSecrets(value: unknown, schema?: TSchema): string[] {
  const secrets = new Set<string>();
  mapStrings(value, (text, path) => {
    const credentials = URL_CREDENTIALS.exec(text)?.[2]?.slice(0, -1);
    if (credentials)
      for (const secret of [credentials, credentials.split(":")[1]])
        if (secret) secrets.add(secret);
    for (const [parameter] of text.matchAll(URL_SECRET_PARAMETER))
      secrets.add(parameter.slice(parameter.indexOf("=") + 1));
    // An unresolved reference is no secret.
    if (text !== "" && !/:\/\/|\$\{/.test(text) && isSecretPath(path, schema)) secrets.add(text);
    return text;
  });
  return [...secrets];
}
