/** Reads members of responses. Servers that imitate a format get types wrong: a value of another type counts as absent. */
import { readCount } from "./token-counts.ts";

/** An empty text counts as absent too. */
export function readText(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

export function readIndex(value: unknown, otherwise: number): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : otherwise;
}

/** A number of tokens; 0 where it is missing or cannot be true. */
export function readCountOrZero(value: unknown): number {
  return readCount(value) ?? 0;
}
