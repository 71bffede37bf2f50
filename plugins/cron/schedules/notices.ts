interface Entry {
  name: string;
  state: { consecutiveErrors: number; lastError?: string | undefined };
}

/** For `portico status`: a sentence for each job, poll or the like whose last run failed. */
export function failureNotices(entries: readonly Record<string, unknown>[]): string[] {
  return entries.flatMap((entry) => {
    const { name, state } = entry as Record<string, unknown> & Entry;
    const { consecutiveErrors: times, lastError } = state;
    if (times === 0) return [];
    return [
      `${name} failed ${times === 1 ? "the last time" : `${times} times in a row`}: ${lastError ?? "no reason was given"}`,
    ];
  });
}
