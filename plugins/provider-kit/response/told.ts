/** Values of an upstream's response. Servers that imitate a format get its types wrong: a value of another type counts as absent. */
import { readCount } from "./token-counts.ts";

export function toldText(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

export function toldIndex(value: unknown, otherwise: number): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : otherwise;
}

/** A number of tokens; 0 where it is missing or cannot be true. */
export function toldCount(value: unknown): number {
  return readCount(value) ?? 0;
}
