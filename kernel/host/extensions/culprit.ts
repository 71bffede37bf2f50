/** Finds the extension that caused an uncaught error. */
import { findPlace } from "../../loader/problem.ts";
import type { Slot } from "./slot.ts";

/**
 * Names the extension whose files are in an error's stack.
 *
 * The asynchronous context usually identifies the extension that started the work. Node loses it in a few callbacks,
 * such as those of performance observers and finalization registries; there only the stack is available.
 */
export function findInStack(slots: Iterable<Slot>, error: Error): string | undefined {
  for (const { name, active } of slots)
    if (active && isInStack(active.version.candidate, error)) return name;
  return undefined;
}

function isInStack({ realDir, source }: NonNullable<Slot["top"]>, error: Error): boolean {
  if (findPlace(error, realDir)) return true;
  const stack = error.stack ?? "";
  return source?.inputs.some((input) => stack.includes(`${input}:`)) ?? false;
}

/** Whether the gateway's own code is in the stack. After such an error its state is unknown. */
export const isOwnFault = (error: Error, packageDir: string): boolean =>
  findPlace(error, packageDir) !== undefined;
