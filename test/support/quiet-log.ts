import type { Logger } from "portico";

/** A log that writes nowhere; it keeps its lines where it gets a list. */
export function quietLog(lines?: unknown[][]): Logger {
  const keep = (...line: unknown[]) => void lines?.push(line);
  const log: Logger = {
    trace: keep,
    debug: keep,
    info: keep,
    warn: keep,
    error: keep,
    fatal: keep,
    child: () => log,
  };
  return log;
}
