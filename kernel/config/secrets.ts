import type { TSchema } from "@sinclair/typebox";
import type { KeyPath } from "../key-path.ts";
import { schemaAt } from "./compose.ts";

const MASK = "********";
const SECRET_KEY =
  /^(?:token|password|passphrase|secret|api[-_]?key|authorization|cookie|credentials?|.*(?:token|password|secret|api[-_]?key|access[-_]?key|private[-_]?key))s?$/i;
// Header and variable names are free, so here a hint of a secret is enough.
const SECRET_NAME = /auth|token|key|secret|password|cookie|credential/i;
const FREE_NAMES = new Set(["headers", "env"]);
const URL_CREDENTIALS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#@]*@)/i;
const URL_SECRET_PARAMETER = /([?&](?:[^=&#]*(?:token|key|secret|password|auth)[^=&#]*)=)[^&#]+/gi;

/** True where a string at this path is a secret, by its name or because its schema says `secret: true`. */
export function isSecretPath(path: KeyPath, schema?: TSchema): boolean {
  const names = path.filter((step) => typeof step === "string");
  const last = names.at(-1) ?? "";
  if (SECRET_KEY.test(last) || (names.at(-2) === "keys" && names.length > 2)) return true;
  if (FREE_NAMES.has(names.at(-2) ?? "") && SECRET_NAME.test(last)) return true;
  return schema !== undefined && schemaAt(schema, path)?.["secret"] === true;
}

/**
 * A copy of a part of the configuration that may be shown: secrets are masked, and in addresses the credentials.
 * `at` is where the part lies in the whole.
 */
export function maskSecrets(value: unknown, schema?: TSchema, at: KeyPath = []): unknown {
  return mapStrings(value, at, (text, path) => {
    const shown = text.replace(URL_CREDENTIALS, `$1${MASK}@`).replace(URL_SECRET_PARAMETER, `$1${MASK}`);
    return text !== "" && isSecretPath(path, schema) ? MASK : shown;
  });
}

/** Every secret that a configuration holds, for the log's redaction. */
export function secretsIn(value: unknown, schema?: TSchema): string[] {
  const secrets = new Set<string>();
  mapStrings(value, [], (text, path) => {
    const credentials = URL_CREDENTIALS.exec(text)?.[2]?.slice(0, -1);
    if (credentials) for (const part of [credentials, credentials.split(":")[1]]) if (part) secrets.add(part);
    for (const [parameter] of text.matchAll(URL_SECRET_PARAMETER))
      secrets.add(parameter.slice(parameter.indexOf("=") + 1));
    // A reference that could not be replaced is no secret.
    if (text !== "" && !/:\/\/|\$\{/.test(text) && isSecretPath(path, schema)) secrets.add(text);
    return text;
  });
  return [...secrets];
}

function mapStrings(value: unknown, path: KeyPath, change: (text: string, path: KeyPath) => string): unknown {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((item, i) => mapStrings(item, [...path, i], change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, [...path, key], change)]),
  );
}
