/** The log: pino lines to standard output, to a file, and to followers. The only importer of pino. */
import pino from "pino";
import type { Logger } from "../contract/index.ts";
import { openLogFile } from "./file.ts";
import { createRecentLines } from "./recent-lines.ts";
import { createRedaction, redactKeys } from "./redaction.ts";

/** One response to one request. */
export interface AccessEntry {
  id: string;
  /** Made here: it needs no quoting and holds no secret. */
  isOwnId: boolean;
  method: string;
  /** Without the query, which may hold what nobody should read. */
  path: string;
  status: number;
  ms: number;
  /** That went out on the connection since its last line, heads included. */
  bytes: number;
  /** The client left, or the response broke off. */
  cut: boolean;
  /** A page that asks again and again: its line is of level `debug`. */
  isPoll?: boolean;
  /** The name of the client key. */
  key?: string | undefined;
  /** What a request for a model is about. */
  subject?: { model: string; channel: string; attempts: number } | undefined;
  /** Of the error that was the response. */
  code?: string | undefined;
}

export interface LogOptions {
  level?: string;
  /** Where lines are kept; several processes may write to it. */
  file?: string;
  /** Standard output or a test's collector; absent: none. */
  write?: (line: string) => void;
}

const keptLines = 1000;
/** Remembered as they are shown. */
const MOST_PATHS = 500;
const LONGEST_PATH = 200;
const MOST_NAMES = 500;
const LONGEST_NAME = 200;

export type LogBook = ReturnType<typeof createLog>;

export function createLog(options: LogOptions = {}) {
  const recent = createRecentLines(keptLines);
  const followers = new Set<(line: string) => void>();
  const redaction = createRedaction();
  // standard output still has the lines
  const tell = (err: unknown) =>
    log.warn({ err }, "the log file cannot be written: its lines are missing there");
  const file =
    options.file === undefined ? undefined : openLogFile({ file: options.file, onError: tell });
  const clock = createClock("", "");
  const lineClock = createClock('{"level":"info"', ',"id":');
  const pollClock = createClock('{"level":"debug"', ',"id":');
  const log = pino(
    {
      level: options.level ?? "info",
      base: null,
      timestamp: clock,
      // pino's own redaction takes 20 µs a line for this many paths; most lines have nothing to hide.
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactKeys(fields),
        bindings: (fields) => redactKeys(fields),
      },
      serializers: { err: describeError },
    },
    { write: (line: string) => keep(redaction.hide(line)) },
  );

  // pino's formatter of bindings is for the root only; children of children inherit this one.
  const { child } = log;
  Object.defineProperty(log, "child", {
    value(this: typeof log, bindings: pino.Bindings, more?: pino.ChildLoggerOptions) {
      return Reflect.apply(child, this, [redactKeys(bindings), more]);
    },
  });

  function keep(line: string): void {
    recent.add(line);
    options.write?.(line);
    file?.write(line);
    for (const follower of followers) {
      try {
        follower(line.trimEnd());
      } catch (error) {
        // The caller is not to blame for it, and cannot do anything about it.
        followers.delete(follower);
        queueMicrotask(() =>
          log.error({ err: error }, "a follower of the log failed and gets no further lines"),
        );
      }
    }
  }

  /** What the last line of each path has in its middle, of the few that most requests have: the next one is often alike. */
  const middles = new Map<string, { method: string; status: number; text: string }>();
  function middleOf(method: string, path: string, status: number): string {
    const last = middles.get(path);
    if (last?.method === method && last.status === status) return last.text;
    const text = flat(
      `,"method":"${method}","path":${redaction.hide(quoted(path))},"status":${status},"ms":`,
    );
    if (middles.size >= MOST_PATHS) middles.clear();
    if (path.length <= LONGEST_PATH) middles.set(path, { method, status, text });
    return text;
  }

  /** Names of key, model and channel as lines show them: they come again and again. */
  const shownNames = new Map<string, string>();
  function shownName(name: string): string {
    const known = shownNames.get(name);
    if (known !== undefined) return known;
    const shown = flat(redaction.hide(quoted(name.slice(0, LONGEST_NAME))));
    if (shownNames.size >= MOST_NAMES) shownNames.clear();
    if (name.length <= LONGEST_NAME) shownNames.set(name, shown);
    return shown;
  }

  /** Who asked for what, and what became of it. */
  function detailsOf({ key, subject, code }: AccessEntry): string {
    let text = key === undefined ? "" : `,"key":${shownName(key)}`;
    if (subject !== undefined) {
      const { model, channel, attempts } = subject;
      text += `,"model":${shownName(model)}`;
      if (channel !== "") text += `,"channel":${shownName(channel)}`;
      text += `,"attempts":${attempts}`;
    }
    return code === undefined ? text : `${text},"code":${shownName(code)}`;
  }

  /** The line of one response, as pino would write it, at a fifth of its cost. */
  function access(entry: AccessEntry): void {
    const { id, isOwnId, method, path, status, ms, bytes, cut, isPoll } = entry;
    if (!log.isLevelEnabled(isPoll ? "debug" : "info")) return;
    const head = isPoll ? pollClock() : lineClock();
    const shownId = isOwnId ? `"${id}"` : redaction.hide(quoted(id));
    const details = detailsOf(entry);
    const end = cut ? ',"cut":true,"msg":"request"}\n' : ',"msg":"request"}\n';
    keep(
      `${head}${shownId}${middleOf(method, path, status)}${ms},"bytes":${bytes}${details}${end}`,
    );
  }

  return {
    log: log as Logger & { level: string },
    access,
    /** The last lines, oldest first, as JSON text without the line break. */
    recent: (): readonly string[] => recent.last(),
    follow(follower: (line: string) => void): () => void {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    /** From now on this text shows as `[redacted]` in every line. */
    addSecret(secret: string) {
      redaction.add(secret);
      middles.clear();
      shownNames.clear();
    },
    close: async () => file?.close(),
  };
}

/** pino's field of the time, in ISO 8601. Lines of the same millisecond, of which there are many under load, share it. */
function createClock(before: string, behind: string): () => string {
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

/** In one piece in memory, which lines that are put together of it then need not be collected from. */
const flat = (text: string): string => Buffer.from(text).toString();

/** As JSON. Nearly all texts of a line are plain and need nothing but the quotes. */
const quoted = (text: string): string =>
  /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text) ? `"${text}"` : JSON.stringify(text);

/** Only these fields: an error's own properties may hold a request with its credentials. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, code } = error as Error & { code?: unknown };
  const cause = error.cause instanceof Error ? describeError(error.cause) : undefined;
  return { type: name, message, code, stack, cause };
}
