/** The last lines of one part (a hook), beside the log of the gateway. */
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

/** A logger whose lines go to the gateway's log, the newest `most` of them into a list too. Its methods work when taken off it. */
export function keepLines(log: Logger, most = 200): { log: Logger; lines: readonly HookLogLine[] } {
  const lines: HookLogLine[] = [];
  const over = (to: Logger, bindings: object): Logger => {
    const methods = {} as Record<(typeof levels)[number], Logger["info"]>;
    for (const level of levels) {
      methods[level] = (fields, message, ...rest: unknown[]) => {
        const text = typeof fields === "string" ? fields : (message ?? "");
        const more =
          typeof fields === "string" ? (message === undefined ? rest : [message, ...rest]) : rest;
        const said = more.length ? format(text, ...more) : text;
        const own = typeof fields === "object" && fields !== null ? fields : {};
        lines.push({
          at: new Date().toISOString(),
          level,
          message: said,
          ...describeFields({ ...bindings, ...own }),
        });
        if (lines.length > most) lines.shift();
        to[level](own, said);
      };
    }
    return { ...methods, child: (further) => over(to.child(further), { ...bindings, ...further }) };
  };
  return { log: over(log, {}), lines };
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
