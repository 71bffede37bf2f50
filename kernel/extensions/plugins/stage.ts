/** Holds what a setup registers until all of it has succeeded: then it takes effect at once, and before that nothing does. */
import type { Scope } from "../../timing/scope.ts";
import type { Dispose } from "../../types.ts";

interface Held {
  label: string;
  register: () => Dispose;
  undo?: Dispose;
}

export function createStage(scope: Scope) {
  let held: Set<Held> | undefined = new Set();
  return {
    /** Registers, now or when all is taken up. The result undoes it in either case. */
    effect(label: string, register: () => Dispose): Dispose {
      if (!held) return scope.add(label, register());
      const one: Held = { label, register };
      held.add(one);
      return () => {
        held?.delete(one);
        return one.undo?.();
      };
    },
    /** Registers what was held, in the order of its coming. */
    takeUp(): void {
      const all = held ?? [];
      held = undefined;
      for (const one of all) one.undo = scope.add(one.label, one.register());
    },
  };
}
export type Stage = ReturnType<typeof createStage>;
