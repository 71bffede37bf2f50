import { exactJson, isSecretName, MASK } from "portico";

/** A copy in which every text under the name of a secret is `********`, also in lists and objects of that name. */
export function maskNamed(value: unknown, named = false): unknown {
  if (typeof value === "string") return named && value !== "" ? MASK : value;
  if (Array.isArray(value)) return value.map((item) => maskNamed(item, named));
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
      maskNamed(item, named || isSecretName(name)),
    ]),
  );
}
