/** Counts the attempts at each provider, with their outcomes, for authors of providers. */
import { type Dispose, isPorticoError, type Workers } from "portico";
import type { ProviderRuns } from "portico/models";

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

const TOPIC = "provider runs";

/** The other workers answer with what they have counted. */
export function offerRuns(counts: RunCounts, workers: Workers): Dispose {
  return workers.on(TOPIC, (provider: string) => counts.of(provider));
}

/** What all workers have counted. */
export async function runsEverywhere(
  counts: RunCounts,
  provider: string,
  workers: Workers | undefined,
): Promise<ProviderRuns | undefined> {
  const others = (await workers?.askAll<ProviderRuns | undefined>(TOPIC, provider)) ?? [];
  const all = [counts.of(provider), ...others].filter((one) => one !== undefined && one !== null);
  if (all.length === 0) return undefined;
  const [lastError] = all
    .flatMap((one) => one.lastError ?? [])
    .sort((a, b) => b.at.localeCompare(a.at));
  return { runs: sumOf(all, "runs"), failures: sumOf(all, "failures"), lastError };
}

function sumOf(all: readonly ProviderRuns[], count: "runs" | "failures"): number {
  return all.reduce((sum, one) => sum + one[count], 0);
}

/** Where it was thrown first: our own error about it has a stack of ours. */
function deepest(error: unknown): string | undefined {
  let last: Error | undefined;
  for (let one = error, i = 0; one instanceof Error && i < 5; one = one.cause, i++) last = one;
  return last?.stack;
}
