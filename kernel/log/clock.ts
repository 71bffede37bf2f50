/** The timestamps of log lines. */

/**
 * Returns a function that returns pino's time field, in ISO 8601. Lines of the same millisecond, of which there are
 * many under load, share it.
 */
export function createClock(before: string, after: string): () => string {
  let fieldTime = 0;
  let field = "";
  return () => {
    const now = Date.now();
    if (now !== fieldTime) {
      fieldTime = now;
      field = flat(`${before},"time":"${new Date(now).toISOString()}"${after}`);
    }
    return field;
  };
}

/** Returns a copy in one block of memory, because a concatenated string keeps its parts alive. */
export const flat = (text: string): string => Buffer.from(text).toString();
