/** Reads members of responses. Servers that imitate a format send wrong types, so a value of another type counts as absent. */
import { readCount } from "./token-counts.ts";

/** Reads a text. An empty text counts as absent, too. */
export function readText(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

export function readIndex(value: unknown, fallback: number): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : fallback;
}

/** Reads a number of tokens; 0 if it is missing or cannot be true. */
export function readCountOrZero(value: unknown): number {
  return readCount(value) ?? 0;
}
