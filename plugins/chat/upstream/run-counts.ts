/** How often each provider was asked, and how that went: for whoever writes one. */
import { isPorticoError } from "portico";
import type { ProviderRuns } from "portico/chat";

export interface RunCounts {
  of(provider: string): ProviderRuns | undefined;
  asked(provider: string): void;
  failed(provider: string, error: unknown): void;
}

export function createRunCounts(now: () => Date = () => new Date()): RunCounts {
  const known = new Map<string, ProviderRuns>();

  function runsOf(provider: string): ProviderRuns {
    let runs = known.get(provider);
    if (runs === undefined) {
      runs = { runs: 0, failures: 0 };
      known.set(provider, runs);
    }
    return runs;
  }

  return {
    of: (provider) => known.get(provider),
    asked(provider) {
      runsOf(provider).runs++;
    },
    failed(provider, error) {
      // What the caller has done wrong says nothing of the provider.
      if (isPorticoError(error) && error.status < 500 && error.status !== 429) return;
      const runs = runsOf(provider);
      runs.failures++;
      const message = error instanceof Error ? error.message : String(error);
      runs.lastError = { at: now().toISOString(), message, stack: deepest(error) };
    },
  };
}

/** Where it was thrown first: our own error about it has a stack of ours. */
function deepest(error: unknown): string | undefined {
  let last: Error | undefined;
  for (let one = error, i = 0; one instanceof Error && i < 5; one = one.cause, i++) last = one;
  return last?.stack;
}
