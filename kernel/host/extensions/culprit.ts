/** Finds out whose fault an error is that nobody caught. */
import { placeOf } from "../../loader/problem.ts";
import type { Slot } from "./slot.ts";

/**
 * Names the extension whose files stand in an error's stack.
 *
 * The asynchronous context usually tells who left the work behind. Node loses it in a few callbacks, such as those of
 * performance observers and finalization registries; there the stack is all that is left.
 */
export function findInStack(slots: Iterable<Slot>, error: Error): string | undefined {
  for (const { name, active } of slots)
    if (active && standsInStack(active.version.candidate, error)) return name;
  return undefined;
}

function standsInStack({ realDir, source }: NonNullable<Slot["top"]>, error: Error): boolean {
  if (placeOf(error, realDir)) return true;
  const stack = error.stack ?? "";
  return source?.inputs.some((input) => stack.includes(`${input}:`)) ?? false;
}

/** True where the gateway's own code stands in the stack: after such an error its state is unknown. */
export const isOwnFault = (error: Error, packageDir: string): boolean =>
  placeOf(error, packageDir) !== undefined;
