/** The log: pino lines to standard output, to a file, and to followers. The only importer of pino. */
import pino from "pino";
import type { Logger } from "../contract/index.ts";
import { type AccessEntry, AccessLines } from "./access-lines.ts";
import { createClock } from "./clock.ts";
import { LogFile } from "./file.ts";
import { createRecentLines } from "./recent-lines.ts";
import { createRedaction, redactKeys } from "./redaction.ts";

export interface LogOptions {
  level?: string;
  /** Where lines are kept; several processes may write to it. */
  file?: string;
  /** Standard output or a test's collector; absent: none. */
  write?: (line: string) => void;
}

const keptLines = 1000;

export type LogBook = ReturnType<typeof createLog>;

export function createLog(options: LogOptions = {}) {
  const recent = createRecentLines(keptLines);
  const followers = createFollowers((error) =>
    log.error({ err: error }, "a follower of the log failed and receives no further lines"),
  );
  const redaction = createRedaction();
  const accessLines = new AccessLines(redaction);
  // Standard output still has the lines.
  const onError = (err: unknown) =>
    log.warn({ err }, "the log file cannot be written; lines from this period are missing from it");
  const file =
    options.file === undefined ? undefined : new LogFile({ file: options.file, onError });
  const log = createPino(options.level ?? "info", (line) => keep(redaction.hide(line)));

  function keep(line: string): void {
    recent.add(line);
    options.write?.(line);
    file?.write(line);
    followers.send(line);
  }

  return {
    log: log as Logger & { level: string },
    access(entry: AccessEntry): void {
      const level = entry.isRoutine ? "debug" : "info";
      if (log.isLevelEnabled(level)) keep(accessLines.lineOf(entry));
    },
    /** The last lines, oldest first, as JSON text without the line break. */
    recent: (): readonly string[] => recent.last(),
    follow: followers.add,
    /** From now on this text shows as `[redacted]` in every line. */
    addSecret(secret: string): void {
      redaction.add(secret);
      accessLines.forget();
    },
    close: async () => file?.close(),
  };
}

/** Functions that get each line. A follower that fails gets no more of them. */
function createFollowers(report: (error: unknown) => void) {
  const followers = new Set<(line: string) => void>();
  return {
    add(follower: (line: string) => void): () => void {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    send(line: string): void {
      for (const follower of followers) {
        try {
          follower(line.trimEnd());
        } catch (error) {
          // The caller is not to blame for it, and cannot do anything about it.
          followers.delete(follower);
          queueMicrotask(() => report(error));
        }
      }
    },
  };
}

function createPino(level: string, write: (line: string) => void): pino.Logger {
  const log = pino(
    {
      level,
      base: null,
      timestamp: createClock("", ""),
      // pino's own redaction takes 20 µs a line for this many paths; most lines have nothing to hide.
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactKeys(fields),
        bindings: (fields) => redactKeys(fields),
      },
      serializers: { err: describeError },
    },
    { write },
  );
  // pino's formatter of bindings is for the root only; children of children inherit this one.
  const { child } = log;
  Object.defineProperty(log, "child", {
    value(this: typeof log, bindings: pino.Bindings, more?: pino.ChildLoggerOptions) {
      return Reflect.apply(child, this, [redactKeys(bindings), more]);
    },
  });
  return log;
}

/** An error may lead back to itself. */
const MOST_CAUSES = 5;

/** Never throws: the log is where failures are reported. */
function describeError(error: unknown): unknown {
  try {
    return error instanceof Error ? fieldsOf(error, MOST_CAUSES) : error;
  } catch {
    return { message: "an error that cannot be read" };
  }
}

/** Only these fields: an error's own properties may hold a request with its credentials. */
function fieldsOf(error: Error & { code?: unknown }, causes: number): object {
  const { name, message, stack, code, cause } = error;
  const isShown = cause instanceof Error && causes > 0;
  const shownCause = isShown ? fieldsOf(cause, causes - 1) : undefined;
  return { type: name, message, code, stack, cause: shownCause };
}
