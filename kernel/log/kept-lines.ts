/** Keeps the last lines of one part (a hook), in addition to the log of the gateway. */
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
 * Returns a logger whose lines go to the gateway's log, and the newest `max` of them also into a list. Its methods work
 * without their receiver.
 */
export function keepLines(log: Logger, max = 200): { log: Logger; lines: readonly HookLogLine[] } {
  const lines: HookLogLine[] = [];
  const keepLine = (line: HookLogLine): void => {
    lines.push(line);
    if (lines.length > max) lines.shift();
  };
  return { log: keepingLogger(log, {}, keepLine), lines };
}

/** Returns a logger that passes each line to `keepLine` before it logs it. */
function keepingLogger(
  log: Logger,
  bindings: Record<string, unknown>,
  keepLine: (line: HookLogLine) => void,
): Logger {
  const methods = {} as Record<(typeof levels)[number], Logger["info"]>;
  for (const level of levels) {
    methods[level] = (...args: unknown[]) => {
      const { fields, message } = readLine(args);
      const at = new Date().toISOString();
      keepLine({ at, level, message, ...describeFields({ ...bindings, ...fields }) });
      log[level](fields, message);
    };
  }
  const child = (childBindings: Record<string, unknown>) =>
    keepingLogger(log.child(childBindings), { ...bindings, ...childBindings }, keepLine);
  return { ...methods, child };
}

/**
 * Reads the arguments of a log call: `(fields, message?, ...values)` or `(message, ...values)`. Formats the values into
 * the message, as pino does.
 */
function readLine([first, ...others]: unknown[]): { fields: object; message: string } {
  const isText = typeof first === "string";
  const [message, ...values] = isText ? [first, ...others] : others;
  const text = String(message ?? "");
  const fields = typeof first === "object" && first !== null ? first : {};
  // An undefined first value is a missing message, not a value.
  const formatValues = isText && values[0] === undefined ? values.slice(1) : values;
  return { fields, message: formatValues.length > 0 ? format(text, ...formatValues) : text };
}

/** Returns a JSON copy of the line's fields, so that a line does not keep a request alive. */
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
