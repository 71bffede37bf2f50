/** The last lines of one part (a hook), next to the log of the gateway. */
import { format } from "node:util";
import type { Logger } from "../contract/index.ts";

/** One line that a hook logged, or that was logged about it. */
export interface HookLogLine {
  at: string;
  level: string;
  message: string;
  fields?: Record<string, unknown>;
}

const levels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/**
 * A logger whose lines go to the gateway's log, and the newest `most` of them into a list too. Its methods work when
 * they are taken off it.
 */
export function keepLines(log: Logger, most = 200): { log: Logger; lines: readonly HookLogLine[] } {
  const lines: HookLogLine[] = [];
  const keep = (line: HookLogLine): void => {
    lines.push(line);
    if (lines.length > most) lines.shift();
  };
  return { log: keepingLogger(log, {}, keep), lines };
}

/** A logger that hands each line to `keep` before it logs it. */
function keepingLogger(
  log: Logger,
  bindings: Record<string, unknown>,
  keep: (line: HookLogLine) => void,
): Logger {
  const methods = {} as Record<(typeof levels)[number], Logger["info"]>;
  for (const level of levels) {
    methods[level] = (...args: unknown[]) => {
      const { fields, message } = readLine(args);
      const at = new Date().toISOString();
      keep({ at, level, message, ...describeFields({ ...bindings, ...fields }) });
      log[level](fields, message);
    };
  }
  const child = (further: Record<string, unknown>) =>
    keepingLogger(log.child(further), { ...bindings, ...further }, keep);
  return { ...methods, child };
}

/** `(fields, message?, ...values)` or `(message, ...values)`; the values are put into the message, as pino does. */
function readLine([first, ...others]: unknown[]): { fields: object; message: string } {
  const isText = typeof first === "string";
  const [message, ...values] = isText ? [first, ...others] : others;
  const text = String(message ?? "");
  const fields = typeof first === "object" && first !== null ? first : {};
  // A message that is passed as undefined takes no place among the values.
  const placed = isText && values[0] === undefined ? values.slice(1) : values;
  return { fields, message: placed.length > 0 ? format(text, ...placed) : text };
}

/** The line's fields as JSON can hold them; a line must not keep a request alive. */
function describeFields(fields: Record<string, unknown>): { fields?: Record<string, unknown> } {
  if (Object.keys(fields).length === 0) return {};
  try {
    const text = JSON.stringify(fields, (_, value) =>
      value instanceof Error ? value.message : value,
    );
    return text.length > 4000
      ? { fields: { truncated: text.slice(0, 4000) } }
      : { fields: JSON.parse(text) };
  } catch {
    return { fields: { unreadable: true } };
  }
}
