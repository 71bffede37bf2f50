/** What an upstream tells of a response. Servers that imitate a format get its types wrong: what is none counts as not told. */

export function toldText(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

export function toldIndex(value: unknown, otherwise: number): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : otherwise;
}

/** A number of tokens; some write it as a text. */
export function toldCount(value: unknown): number {
  const count = typeof value === "string" ? Number(value) : value;
  return typeof count === "number" && count > 0 && Number.isFinite(count) ? Math.round(count) : 0;
}
