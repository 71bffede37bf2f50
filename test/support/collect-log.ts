/** A log that stores its lines in a list. */
import type { Logger } from "portico";

export interface Line {
  level: string;
  fields: Record<string, unknown>;
  message: string | undefined;
}

export function collectLog(lines: Line[], bindings: Record<string, unknown> = {}): Logger {
  const at = (level: string) => (fields: object | string, message?: string) =>
    void lines.push(
      typeof fields === "string"
        ? { level, fields: bindings, message: fields }
        : { level, fields: { ...bindings, ...fields }, message },
    );
  return {
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
    child: (more) => collectLog(lines, { ...bindings, ...more }),
  };
}
