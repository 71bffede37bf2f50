/** Keeps secrets out of the delivery log and of what is shown of it. */
import { isSecretName, MASK, maskNamed } from "portico";

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

export function maskText(text: string, secrets: readonly string[]): string {
  let masked = text;
  for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK);
  return masked;
}

/** The text of a payload as it may be shown: in JSON, what is called a secret is masked too. */
export function maskPayload(payload: string, secrets: readonly string[]): string {
  const text = maskText(payload, secrets);
  try {
    return JSON.stringify(maskNamed(JSON.parse(text)));
  } catch {
    return text.replace(/[^&\s]+/g, maskField);
  }
}

/** `name=value` of a form; in linear time, whatever the text. */
function maskField(field: string): string {
  const sign = field.indexOf("=");
  return sign > 0 && isSecretName(field.slice(0, sign)) ? field.slice(0, sign + 1) + MASK : field;
}
