/** Masks secrets in the delivery log and in views of it. */
import { exactJson, isSecretName, MASK } from "portico";
import { maskNamed } from "portico/strings";

/** Shorter secrets are not masked, since they also occur where they are no secrets, such as in the name of an event. */
const MIN_LENGTH = 8;
/** The headers in which senders send credentials. In these, short secrets are masked too. */
const CREDENTIALS = new Set(["authorization", "x-service-token", "x-gitlab-token"]);

/** Returns a copy in which fields with the name of a secret, and all known secrets, are masked. */
export function maskFields(
  fields: Readonly<Record<string, string>>,
  secrets: readonly string[],
): Record<string, string> {
  const masked: Record<string, string> = {};
  for (const name of Object.keys(fields)) {
    masked[name] = isSecretName(name) ? MASK : maskText(fields[name] as string, secrets);
  }
  return masked;
}

/** Returns a copy in which known secrets are masked, since templates must not see the credentials of a sender. */
export function withoutSecrets(
  fields: Readonly<Record<string, string>>,
  secrets: readonly string[],
): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of Object.keys(fields))
    clean[name] = maskText(fields[name] as string, secrets, CREDENTIALS.has(name) ? 1 : MIN_LENGTH);
  return clean;
}

/** Masks secrets of at least `minLength` characters. A secret that contains another one must come before that in the list. */
export function maskText(text: string, secrets: readonly string[], minLength = MIN_LENGTH): string {
  let masked = text;
  for (const secret of secrets)
    if (secret.length >= minLength && masked.includes(secret))
      masked = masked.replaceAll(secret, MASK);
  return masked;
}

/** Masks a payload for display: known secrets, and values of JSON, XML and forms with the name of a secret. */
export function maskPayload(payload: string, secrets: readonly string[]): string {
  const text = maskText(payload, secrets);
  try {
    return exactJson.stringify(maskNamed(exactJson.parse(text))) ?? "";
  } catch {
    return /^\s*</.test(text)
      ? text.replace(ELEMENT, maskElement)
      : text.replace(/[^&\s]+/g, maskField);
  }
}

// The name matches as a whole or not at all, which avoids backtracking.
const ELEMENT = /<([\w:.-]+)(?![\w:.-])([^<>]*)>([^<]+)/g;

/** Masks the text of an XML element with the name of a secret. */
function maskElement(element: string, name: string, attributes: string, text: string): string {
  return isSecretName(name) && text.trim() !== "" ? `<${name}${attributes}>${MASK}` : element;
}

/** Masks `name=value` of a form, in linear time for any text. */
function maskField(field: string): string {
  const equalsAt = field.indexOf("=");
  return equalsAt > 0 && isSecretName(field.slice(0, equalsAt))
    ? field.slice(0, equalsAt + 1) + MASK
    : field;
}
