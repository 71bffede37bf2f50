/** The time of log lines. */

/** pino's field of the time, in ISO 8601. Lines of the same millisecond, of which there are many under load, share it. */
export function createClock(before: string, behind: string): () => string {
  let shown = 0;
  let field = "";
  return () => {
    const now = Date.now();
    if (now !== shown) {
      shown = now;
      field = flat(`${before},"time":"${new Date(now).toISOString()}"${behind}`);
    }
    return field;
  };
}

/** A copy in one piece of memory: a text that was put together keeps its parts until it is collected. */
export const flat = (text: string): string => Buffer.from(text).toString();
