/** Creates commands of `portico browser` from routes of the control API. */
import { Type } from "portico";
import {
  type Command,
  commandFor,
  type CommandIO,
  type OptionSpec,
  type RouteArgument,
  type RouteCommand,
  type RouteOption,
} from "portico/command-line";
import { COMMON_TEXTS } from "../declarations/declare.ts";
import { type RouteName, ROUTES } from "../declarations/routes.ts";

interface BrowserCommand<Result> extends Omit<RouteCommand<Result>, "view"> {
  /** Formats the response. Default: the line "Done." */
  view?: RouteCommand<Result>["view"];
}

export const SERVER = "browser";

export const PROFILE = {
  "browser-profile": {
    type: "string",
    value: "NAME",
    description: COMMON_TEXTS.profile,
  },
} satisfies Record<string, OptionSpec>;

export const TIMEOUT = {
  timeout: {
    member: "timeoutMs",
    type: "number",
    value: "MS",
    description: COMMON_TEXTS.timeoutMs,
  },
} satisfies Record<string, RouteOption>;

/** The options of commands that concern one tab. */
export const TAB: Record<string, RouteOption> = {
  "target-id": {
    member: "targetId",
    type: "string",
    value: "ID",
    description: COMMON_TEXTS.targetId,
  },
  ...TIMEOUT,
};

export const REF: RouteArgument = {
  name: "ref",
  description: "The ref of the element in a snapshot, such as 12 or e12",
};

/** Creates a command from a route of the control API. */
export function browserCommand<Result>(name: RouteName, command: BrowserCommand<Result>): Command {
  const { method, summary, schema, fields } = ROUTES.find((route) => route.name === name)!;
  const input = method === "POST" ? { body: schema } : { query: Type.Object(fields) };
  return commandFor<Result>(
    name,
    { server: SERVER, summary, ...input },
    {
      ...command,
      options: {
        ...command.options,
        "browser-profile": { ...PROFILE["browser-profile"], member: "profile" },
      },
      view: command.view ?? (() => "Done."),
    },
  );
}

/** Returns the fields that all routes accept, for a command that builds the other fields from several options. */
export function commonMembers({ options }: CommandIO): Record<string, unknown> {
  return {
    profile: options["browser-profile"],
    targetId: options["target-id"],
    timeoutMs: options["timeout"],
  };
}

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

/** Creates an option whose value is JSON. */
export function jsonOption(name: string, description?: string): RouteOption {
  return {
    type: "string",
    value: "JSON",
    ...(description !== undefined && { description }),
    read(value: string): unknown {
      try {
        return JSON.parse(value);
      } catch (error) {
        throw new Error(`--${name} is not JSON: ${(error as Error).message}.`);
      }
    },
  };
}

/** Creates an argument whose value is a number. */
export function numberArgument(
  name: string,
  argument: Omit<RouteArgument, "name"> = {},
): RouteArgument {
  return {
    ...argument,
    name,
    read(value: string): number {
      if (value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
      throw new Error(`${name} must be a number, not "${value}".`);
    },
  };
}
