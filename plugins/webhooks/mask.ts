/** Keeps secrets out of the delivery log and of what is shown of it. */
import { exactJson, isSecretName, MASK } from "portico";
import { maskNamed } from "portico/strings";

/** Anything shorter would be found where it is no secret, in an event's name or a word of the payload. */
const SHORTEST = 8;
/** What senders sign in with, however short it is. */
const CREDENTIALS = new Set(["authorization", "x-service-token", "x-gitlab-token"]);

/** A copy in which values with the name of a secret, and the known secrets themselves, are masked. */
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

/** A copy without the known secrets: what a sender signs in with is nothing for a template. */
export function withoutSecrets(
  fields: Readonly<Record<string, string>>,
  secrets: readonly string[],
): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const name of Object.keys(fields))
    clean[name] = maskText(fields[name] as string, secrets, CREDENTIALS.has(name) ? 1 : SHORTEST);
  return clean;
}

/** Without the known secrets of so many characters; a longer one that begins with another has to come first. */
export function maskText(text: string, secrets: readonly string[], shortest = SHORTEST): string {
  let masked = text;
  for (const secret of secrets)
    if (secret.length >= shortest && masked.includes(secret))
      masked = masked.replaceAll(secret, MASK);
  return masked;
}

/** The text of a payload as it may be shown: in JSON, what is called a secret is masked too. */
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

// A name is taken whole or not at all, so that nothing is tried twice.
const ELEMENT = /<([\w:.-]+)(?![\w:.-])([^<>]*)>([^<]+)/g;

/** An element of XML with a text. */
function maskElement(all: string, name: string, attributes: string, text: string): string {
  return isSecretName(name) && text.trim() !== "" ? `<${name}${attributes}>${MASK}` : all;
}

/** `name=value` of a form; in linear time, whatever the text. */
function maskField(field: string): string {
  const sign = field.indexOf("=");
  return sign > 0 && isSecretName(field.slice(0, sign)) ? field.slice(0, sign + 1) + MASK : field;
}
