/** The log: pino lines to standard output, to a file, and to whoever follows. The only importer of pino. */
import { createWriteStream, mkdirSync, renameSync, statSync, type WriteStream } from "node:fs";
import { dirname } from "node:path";
import pino from "pino";
import { RecentLines } from "./recent-lines.ts";
import type { Logger } from "./types.ts";

/** One answer to one request. */
export interface AccessEntry {
  id: string;
  method: string;
  /** Without the query, which may hold what nobody should read. */
  path: string;
  status: number;
  ms: number;
  /** That went out on the connection, head included. */
  bytes: number;
  /** The client left, or the answer broke off. */
  cut: boolean;
}

export interface LogBook {
  log: Logger & { level: string };
  /** The line of one answer, at level `info`: as pino would write it, at a fifth of its cost. */
  access(entry: AccessEntry): void;
  /** The last lines, oldest first, as JSON text without the line break. */
  recent(): readonly string[];
  follow(line: (text: string) => void): () => void;
  /** From now on this text shows as `[redacted]` in every line. */
  addSecret(secret: string): void;
  setLevel(level: string): void;
  close(): Promise<void>;
}

export interface LogOptions {
  level?: string;
  /** Where lines are kept; a file of more than 10 MB moves to `<file>.1` at the next start. */
  file?: string;
  /** Standard output or a test's collector; absent: none. */
  write?: (line: string) => void;
}

const secretKeys = new Set([
  "token",
  "password",
  "apiKey",
  "secret",
  "authorization",
  "cookie",
  "x-api-key",
  "x-service-token",
  "x-service-password",
]);
/** How deep fields are looked through for secrets. */
const redactDepth = 3;
const keptLines = 1000;
const maxFileBytes = 10 * 1024 * 1024;
/** Lines may wait this long for others on their way to the file: each write takes a thread of the pool. */
const fileDelayMs = 20;

/** Redaction by key catches what is named, by value (`addSecret`) what slipped into a message or an error. */
export function createLog(options: LogOptions = {}): LogBook {
  const recent = new RecentLines(keptLines);
  const followers = new Set<(line: string) => void>();
  const secrets = new Set<string>();
  const file = options.file ? openFile(options.file) : undefined;

  const clock = createClock();
  const log = pino(
    {
      level: options.level ?? "info",
      base: null,
      timestamp: clock,
      // pino's own redaction takes 20 µs a line for this many paths; most lines have nothing to hide.
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redact(fields),
        bindings: (fields) => redact(fields),
      },
      serializers: { err: describeError },
    },
    { write: (line: string) => keep(hideSecrets(line, secrets)) },
  );

  // pino's formatter of bindings is for the root only; children of children inherit this one.
  const { child } = log;
  log.child = function (this: typeof log, bindings: pino.Bindings, more?: pino.ChildLoggerOptions) {
    return Reflect.apply(child, this, [redact(bindings), more]);
  } as unknown as typeof child;

  function keep(line: string): void {
    recent.add(line);
    options.write?.(line);
    toFile(line);
    for (const follower of followers) follower(line.trimEnd());
  }

  let forFile = "";
  function toFile(line: string): void {
    if (!file) return;
    if (forFile === "") setTimeout(flushFile, fileDelayMs);
    forFile += line;
  }
  function flushFile(): void {
    const lines = forFile;
    forFile = "";
    if (lines !== "") file?.write(lines);
  }

  function access({ id, method, path, status, ms, bytes, cut }: AccessEntry): void {
    if (!log.isLevelEnabled("info")) return;
    const line =
      `{"level":"info"${clock()},"id":${quoted(id)},"method":"${method}","path":${quoted(path)}` +
      `,"status":${status},"ms":${ms},"bytes":${bytes}${cut ? ',"cut":true' : ""},"msg":"request"}\n`;
    keep(hideSecrets(line, secrets));
  }

  return {
    log,
    access,
    recent: () => recent.last(),
    follow(follower) {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    addSecret(secret) {
      if (secret.length >= 6) secrets.add(secret);
    },
    setLevel(level) {
      log.level = level;
    },
    close() {
      flushFile();
      return new Promise((resolve) => (file ? file.end(() => resolve()) : resolve()));
    },
  };
}

/** pino's field of the time, in ISO 8601. Only the milliseconds are written anew within a second. */
function createClock(): () => string {
  let second = 0;
  let prefix = "";
  return () => {
    const now = Date.now();
    const ms = now % 1000;
    if (now - ms !== second) {
      second = now - ms;
      prefix = `,"time":"${new Date(second).toISOString().slice(0, -4)}`;
    }
    return `${prefix}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z"`;
  };
}

/** As JSON. Nearly all texts of a line are plain and need nothing but the quotes. */
function quoted(text: string): string {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The fields with the values of secret keys replaced; the very same object where there are none. */
function redact(fields: Record<string, unknown>, depth = redactDepth): Record<string, unknown> {
  let shown = fields;
  for (const key in fields) {
    const value = fields[key];
    let safe = value;
    if (secretKeys.has(key)) safe = value === undefined ? undefined : "[redacted]";
    // Errors have a serializer of their own, and what has `toJSON` says itself what it shows.
    else if (depth > 1 && isPlain(value)) safe = redact(value, depth - 1);
    if (safe === value) continue;
    if (shown === fields) shown = { ...fields };
    shown[key] = safe;
  }
  return shown;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function hideSecrets(line: string, secrets: ReadonlySet<string>): string {
  let shown = line;
  for (const secret of secrets) {
    if (shown.includes(secret)) shown = shown.replaceAll(secret, "[redacted]");
  }
  return shown;
}

/** Only these fields: an error's own properties may hold a request with its credentials. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, code } = error as Error & { code?: unknown };
  const cause = error.cause instanceof Error ? describeError(error.cause) : undefined;
  return { type: name, message, code, stack, cause };
}

function openFile(file: string): WriteStream | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > maxFileBytes) renameSync(file, `${file}.1`);
  const stream = createWriteStream(file, { flags: "a", mode: 0o600 });
  stream.on("error", () => {}); // a full disk must not stop the gateway; standard output still has the lines
  return stream;
}
