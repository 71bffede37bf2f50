/** The log: writes pino lines to standard output, to a file, and to followers. This is the only importer of pino. */
import pino from "pino";
import type { Logger } from "../contract/index.ts";
import { type AccessEntry, AccessLines } from "./access-lines.ts";
import { createClock } from "./clock.ts";
import { LogFile } from "./file.ts";
import { createRecentLines } from "./recent-lines.ts";
import { createRedaction, redactKeys } from "./redaction.ts";

export interface LogOptions {
  level?: string;
  /** The log file; several processes may write to it. */
  file?: string;
  /** Writes to standard output or a test's collector; absent: neither. */
  write?: (line: string) => void;
}

const RECENT_LINES = 1000;

export type LogBook = ReturnType<typeof createLog>;

export function createLog(options: LogOptions = {}) {
  const recent = createRecentLines(RECENT_LINES);
  const followers = createFollowers((error) =>
    log.error({ err: error }, "a subscriber of the log failed and receives no further lines"),
  );
  const redaction = createRedaction();
  const accessLines = new AccessLines(redaction);
  // Standard output still receives the lines.
  const onError = (err: unknown) =>
    log.warn({ err }, "the log file cannot be written, so some log lines are missing from it");
  const file =
    options.file === undefined ? undefined : new LogFile({ file: options.file, onError });
  const log = createPino(options.level ?? "info", (line) => writeLine(redaction.hide(line)));

  function writeLine(line: string): void {
    recent.add(line);
    options.write?.(line);
    file?.write(line);
    followers.send(line);
  }

  return {
    log: log as Logger & { level: string },
    access(entry: AccessEntry): void {
      const level = entry.isRoutine ? "debug" : "info";
      if (log.isLevelEnabled(level)) writeLine(accessLines.formatLine(entry));
    },
    /** Returns the last lines, oldest first, as JSON text without the line break. */
    recent: (): readonly string[] => recent.last(),
    follow: followers.add,
    /** Shows this text as `[redacted]` in every further line. */
    addSecret(secret: string): void {
      redaction.add(secret);
      accessLines.clearCaches();
    },
    close: async () => file?.close(),
  };
}

/** Manages functions that receive each line. A follower that fails receives no further lines. */
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
          // The caller did not cause this and cannot handle it, so it is reported elsewhere.
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
      // pino's own redaction takes 20 µs per line for this many paths, and most lines have no secrets.
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactKeys(fields),
        bindings: (fields) => redactKeys(fields),
      },
      serializers: { err: describeError },
    },
    { write },
  );
  // pino applies its formatter of bindings to the root only. All descendants inherit this method.
  const { child } = log;
  Object.defineProperty(log, "child", {
    value(this: typeof log, bindings: pino.Bindings, childOptions?: pino.ChildLoggerOptions) {
      return Reflect.apply(child, this, [redactKeys(bindings), childOptions]);
    },
  });
  return log;
}

/** The maximum depth of causes, because an error may be its own cause. */
const MAX_CAUSES = 5;

/** Serializes an error. Never throws, because the log is where failures are reported. */
function describeError(error: unknown): unknown {
  try {
    return error instanceof Error ? pickFields(error, MAX_CAUSES) : error;
  } catch {
    return { message: "an error that cannot be read" };
  }
}

/** Returns only these fields, because an error's own properties may hold a request with its credentials. */
function pickFields(error: Error & { code?: unknown }, causes: number): object {
  const { name, message, stack, code, cause } = error;
  const hasCause = cause instanceof Error && causes > 0;
  const causeFields = hasCause ? pickFields(cause, causes - 1) : undefined;
  return { type: name, message, code, stack, cause: causeFields };
}
