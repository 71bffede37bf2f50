/** Tools of the Responses format that the client runs, as functions that any model can call. */
import {
  type ChatTool,
  functionAt,
  type JsonObject,
  optionalObject,
  optionalString,
  stringAt,
} from "portico/provider";
import type { ToolKind } from "./call-forms.ts";

type FunctionTool = NonNullable<ChatTool["function"]>;

/** The function of one tool, without the name: the code that lists the tool adds it. */
export type ToolFunction = Omit<FunctionTool, "name">;

const STRING = { type: "string" };
const STRINGS = { type: "array", items: STRING };

/** Returns the kind of a tool; undefined if the client does not run it itself. */
export function clientKind({ type, execution, environment }: JsonObject): ToolKind | undefined {
  switch (type) {
    case "function":
    case "custom":
    case "local_shell":
    case "apply_patch":
      return type;
    case "shell":
      return isContainer(environment) ? undefined : "shell";
    case "tool_search":
      return execution === "client" ? "tool_search" : undefined;
    default:
      return undefined;
  }
}

/** Returns true if OpenAI runs the commands in its own container. */
function isContainer(environment: unknown): boolean {
  const { type } = (environment ?? {}) as { type?: unknown };
  return typeof type === "string" && type.startsWith("container");
}

export function nameOfTool(tool: JsonObject, kind: ToolKind, path: string): string {
  if (kind === "function") return functionAt(tool, path).name;
  return kind === "custom" ? stringAt(tool.name, `${path}.name`) : kind;
}

export function functionOf(tool: JsonObject, kind: ToolKind, path: string): ToolFunction {
  switch (kind) {
    case "function":
      return functionTool(tool, path);
    case "custom":
      return customTool(tool, path);
    case "tool_search":
      return searchTool(tool, path);
    default:
      return FIXED[kind];
  }
}

function functionTool(tool: JsonObject, path: string): ToolFunction {
  const { name: _, ...named } = functionAt(tool, path);
  return { ...named, parameters: optionalObject(tool.parameters, `${path}.parameters`) };
}

/** Adds the grammar to the description, since no other format can enforce it. */
function customTool(tool: JsonObject, path: string): ToolFunction {
  const format = optionalObject(tool.format, `${path}.format`);
  const grammar =
    format?.type === "grammar"
      ? `The input must follow this grammar (${String(format.syntax)}):\n${String(format.definition)}`
      : undefined;
  const description = [optionalString(tool.description, `${path}.description`), grammar]
    .filter(Boolean)
    .join("\n\n");
  const input = { type: "string", description: "The input of the tool, as plain text" };
  return { description: description || undefined, parameters: objectWith({ input }, ["input"]) };
}

function searchTool(tool: JsonObject, path: string): ToolFunction {
  const query = { type: "string", description: "What the tool should be able to do" };
  return {
    description:
      optionalString(tool.description, `${path}.description`) ??
      "Finds further tools. Those that it names can be called afterwards.",
    parameters:
      optionalObject(tool.parameters, `${path}.parameters`) ?? objectWith({ query }, ["query"]),
  };
}

const FIXED: Readonly<Record<"local_shell" | "shell" | "apply_patch", ToolFunction>> = {
  local_shell: {
    description: "Runs a command on the user's machine and returns its output.",
    parameters: objectWith(
      {
        command: {
          ...STRINGS,
          description: 'The program and its arguments: ["bash", "-lc", "ls"]',
        },
        working_directory: STRING,
        timeout_ms: { type: "integer" },
      },
      ["command"],
    ),
  },
  shell: {
    description:
      "Runs shell commands on the user's machine, side by side, and returns their output.",
    parameters: objectWith(
      {
        commands: STRINGS,
        timeout_ms: { type: "integer" },
        max_output_length: { type: "integer" },
      },
      ["commands"],
    ),
  },
  apply_patch: {
    description:
      "Creates, updates or deletes a file. `diff` is a V4A diff: the whole content with a + before each line for a new file, hunks for an update.",
    parameters: objectWith(
      {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: STRING,
        diff: STRING,
      },
      ["type", "path"],
    ),
  },
};

function objectWith(properties: JsonObject, required: string[]): JsonObject {
  return { type: "object", properties, required, additionalProperties: false };
}
