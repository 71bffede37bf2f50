/** Counts the attempts at each provider, with their outcomes, for authors of providers. */
import { type Dispose, isPorticoError, type Workers } from "portico";
import type { ProviderRuns } from "portico/models";

export interface RunCounts {
  of(provider: string): ProviderRuns | undefined;
  countAttempt(provider: string): void;
  countFailure(provider: string, error: unknown): void;
}

export function createRunCounts(now: () => Date = () => new Date()): RunCounts {
  const runsByProvider = new Map<string, ProviderRuns>();

  function runsOf(provider: string): ProviderRuns {
    let runs = runsByProvider.get(provider);
    if (runs === undefined) {
      runs = { runs: 0, failures: 0 };
      runsByProvider.set(provider, runs);
    }
    return runs;
  }

  return {
    of: (provider) => runsByProvider.get(provider),
    countAttempt(provider) {
      runsOf(provider).runs++;
    },
    countFailure(provider, error) {
      // An error of the caller shows nothing about the provider.
      if (isPorticoError(error) && error.status < 500 && error.status !== 429) return;
      const runs = runsOf(provider);
      runs.failures++;
      const message = error instanceof Error ? error.message : String(error);
      runs.lastError = { at: now().toISOString(), message, stack: innermostStack(error) };
    },
  };
}

const TOPIC = "provider runs";

/** Lets the other workers query the counts of this one. */
export function offerRuns(counts: RunCounts, workers: Workers): Dispose {
  return workers.on(TOPIC, (provider: string) => counts.of(provider));
}

/** Adds up the counts of all workers. */
export async function runsEverywhere(
  counts: RunCounts,
  provider: string,
  workers: Workers | undefined,
): Promise<ProviderRuns | undefined> {
  const otherCounts = (await workers?.askAll<ProviderRuns | undefined>(TOPIC, provider)) ?? [];
  const allCounts = [counts.of(provider), ...otherCounts].filter(
    (runs) => runs !== undefined && runs !== null,
  );
  if (allCounts.length === 0) return undefined;
  const [lastError] = allCounts
    .flatMap((runs) => runs.lastError ?? [])
    .sort((a, b) => b.at.localeCompare(a.at));
  return { runs: sumOf(allCounts, "runs"), failures: sumOf(allCounts, "failures"), lastError };
}

function sumOf(all: readonly ProviderRuns[], count: "runs" | "failures"): number {
  return all.reduce((sum, runs) => sum + runs[count], 0);
}

/** Returns the stack of the innermost cause, because that of the gateway's own error shows only the gateway. */
function innermostStack(error: unknown): string | undefined {
  let last: Error | undefined;
  for (let current = error, i = 0; current instanceof Error && i < 5; current = current.cause, i++)
    last = current;
  return last?.stack;
}
