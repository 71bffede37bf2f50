/** How a hook has been doing. */
import type { HookRun, HookFailure } from "../../../contract/records.ts";

/** `failuresInARow` and `tripped` begin anew with each version. */
export interface Health {
  runs: number;
  failures: number;
  failuresInARow: number;
  /** It failed too often in a row: it is not called (state `resting`). */
  tripped: boolean;
  /** Its handler once had to be interrupted: it gets little time until it succeeds. */
  blocked: boolean;
  lastRun?: HookRun;
  lastError?: HookFailure;
}

export function newHealth(): Health {
  return { runs: 0, failures: 0, failuresInARow: 0, tripped: false, blocked: false };
}

/** After so many failures in a row a hook is not called any more. */
export const failuresBeforeTrip = 5;
