import { exactJson, isSecretName, MASK } from "portico";

/**
 * Returns a copy in which every string under the name of a secret is `********`, including those in lists and objects of
 * that name.
 */
export function maskNamed(value: unknown, isUnderSecretName = false): unknown {
  if (typeof value === "string") return isUnderSecretName && value !== "" ? MASK : value;
  if (Array.isArray(value)) return value.map((item) => maskNamed(item, isUnderSecretName));
  if (
    typeof value !== "object" ||
    value === null ||
    value instanceof Date ||
    exactJson.isNumber(value)
  )
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      maskNamed(item, isUnderSecretName || isSecretName(name)),
    ]),
  );
}
