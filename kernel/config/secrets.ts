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
// The settings' names are ours: there it is the end that says what is meant (`tokenHeader` is no secret).
const SECRET_KEY = new RegExp(`(?:${WORDS})s?$`, "i");
/** Maps whose keys are not ours. */
export const FREE_NAMES = new Set(["headers", "env"]);
const URL_CREDENTIALS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#@]*@)/i;
const URL_SECRET_PARAMETER = /([?&](?:[^=&#]*(?:token|key|secret|password|auth)[^=&#]*)=)[^&#]+/gi;

const judged = new Map<string, boolean>();

/** True for the name of a field of any data (a payload, an event, a query) whose value is a secret. */
export function isSecretName(name: string): boolean {
  // names are remembered: the same headers come with every request
  let secret = judged.get(name);
  if (secret === undefined) {
    secret = SECRET_NAME.test(name);
    if (judged.size < 1000 && name.length < 100) judged.set(name, secret);
  }
  return secret;
}

/** The same for a header or a variable of the environment: their names are free, so a hint is enough (`X-Key`). */
export const isSecretHeader = (name: string): boolean =>
  isSecretName(name) || /auth|key/i.test(name);

/** True where a string at this path is a secret, by its name or because its schema says `secret: true`. */
function isSecretPath(path: KeyPath, schema?: TSchema): boolean {
  const names = path.filter((step) => typeof step === "string");
  const last = names.at(-1) ?? "";
  if (SECRET_KEY.test(last) || (/keys$/.test(names.at(-2) ?? "") && names.length > 2)) return true;
  if (FREE_NAMES.has(names.at(-2) ?? "") && isSecretHeader(last)) return true;
  return schema !== undefined && schemaAt(schema, path)?.["secret"] === true;
}

/** A text with the credentials of an address in it (before the host, and in the query) masked. */
export function maskAddress(text: string): string {
  return text.replace(URL_CREDENTIALS, `$1${MASK}@`).replace(URL_SECRET_PARAMETER, `$1${MASK}`);
}

/**
 * A copy of a part of the configuration that may be shown: secrets are masked, and in addresses the credentials.
 * `at` is where the part lies in the whole.
 */
export function maskSecrets(value: unknown, schema?: TSchema, at: KeyPath = []): unknown {
  return mapStrings(value, (text, path) => maskText(text, path, schema), [...at]);
}

/** One text of the configuration as it may be shown: masked where it is a secret. */
export function maskText(text: string, path: KeyPath, schema?: TSchema): string {
  return text !== "" && isSecretPath(path, schema) ? MASK : maskAddress(text);
}

/** Every secret that a configuration holds, for the log's redaction. */
export function secretsIn(value: unknown, schema?: TSchema): string[] {
  const secrets = new Set<string>();
  mapStrings(value, (text, path) => {
    const credentials = URL_CREDENTIALS.exec(text)?.[2]?.slice(0, -1);
    if (credentials)
      for (const part of [credentials, credentials.split(":")[1]]) if (part) secrets.add(part);
    for (const [parameter] of text.matchAll(URL_SECRET_PARAMETER))
      secrets.add(parameter.slice(parameter.indexOf("=") + 1));
    // A reference that could not be replaced is no secret.
    if (text !== "" && !/:\/\/|\$\{/.test(text) && isSecretPath(path, schema)) secrets.add(text);
    return text;
  });
  return [...secrets];
}
