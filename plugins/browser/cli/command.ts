/** How a subcommand of `portico browser` becomes a request to the control API. */
import type { ArgSpec, Command, CommandIO, OptionSpec } from "portico/command-line";

interface ApiRequest {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: Record<string, unknown>;
  query?: Record<string, string | number | boolean | undefined>;
}

export interface Definition<T> {
  name: string;
  summary: string;
  args?: readonly ArgSpec[];
  options?: Record<string, OptionSpec>;
  examples?: readonly string[];
  request(io: CommandIO): ApiRequest;
  /** The response's body for people; default: one line that says "done". */
  human?(body: T, io: CommandIO): string | readonly string[];
}

export const COMMON: Record<string, OptionSpec> = {
  "browser-profile": {
    type: "string",
    value: "NAME",
    description: "The browser profile (default: browser.defaultProfile)",
  },
};

export const TAB: Record<string, OptionSpec> = {
  "target-id": {
    type: "string",
    value: "ID",
    description: "The tab, or the beginning of its id (default: the last used one)",
  },
  timeout: { type: "number", value: "MS", description: "Give up after so many milliseconds" },
};

export const text = (description: string, value = "TEXT"): OptionSpec => ({
  type: "string",
  value,
  description,
});
export const number = (description: string, value = "N"): OptionSpec => ({
  type: "number",
  value,
  description,
});
export const flag = (description: string): OptionSpec => ({ type: "boolean", description });

/** A JSON option's value, or a line that says what is wrong with it. */
export function jsonOption(io: CommandIO, name: string): unknown {
  const given = io.options[name];
  if (given === undefined) return undefined;
  try {
    return JSON.parse(String(given));
  } catch (error) {
    throw new Error(`--${name} is not JSON: ${(error as Error).message}.`);
  }
}

/** An argument that is a number, or a line that says what is wrong with it. */
export function numberArg(io: CommandIO, name: string): number | undefined {
  const given = io.args[name];
  if (given === undefined) return undefined;
  if (given.trim() !== "" && Number.isFinite(Number(given))) return Number(given);
  throw new Error(`${name} must be a number, not "${given}".`);
}

const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Fields that every command can send along. */
function common(io: CommandIO): Record<string, unknown> {
  return defined({
    profile: io.options["browser-profile"],
    targetId: io.options["target-id"],
    timeoutMs: io.options["timeout"],
  });
}

/** Sends the request; the fields that all commands share go where the method has its fields. */
async function send<T>(io: CommandIO, { method, path, body, query }: ApiRequest): Promise<T> {
  const shared = common(io);
  const server = "browser";
  if (method === "POST")
    return io.gateway.request<T>(method, path, { ...shared, ...defined(body ?? {}) }, { server });
  return io.gateway.request<T>(method, path, undefined, {
    server,
    query: { ...shared, ...query } as ApiRequest["query"] & object,
  });
}

export function command<T>(definition: Definition<T>): Command {
  const { name, summary, args, examples, human } = definition;
  return {
    name,
    summary,
    args,
    examples,
    options: { ...definition.options, ...COMMON },
    async run(io) {
      const body = await send<T>(io, definition.request(io));
      io.show(body, (value) => (human === undefined ? "Done." : human(value, io)));
    },
  };
}
