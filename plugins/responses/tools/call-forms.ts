/**
 * Translates tool calls of the Responses format. Models of other formats know only functions: a function call becomes an
 * item of the right type, and such an item becomes a function call again.
 */
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  parseCounted,
  stringAt,
  stringifyExact,
} from "portico/provider";
import type { ItemKind } from "../archive.ts";

export type ToolKind =
  | "function"
  | "custom"
  | "local_shell"
  | "shell"
  | "apply_patch"
  | "tool_search";

/** Identifies a tool by the client's names. */
export interface ToolId {
  kind: ToolKind;
  name: string;
  /** The `namespace` that holds the tool. */
  namespace?: string | undefined;
}

export interface CallForm {
  itemType: string;
  idKind: ItemKind;
  /** Returns the members of an item when its call begins. */
  begin(tool: ToolId): JsonObject;
  /** Returns the members that are known once the arguments are complete. */
  end(args: string): JsonObject;
  /** Returns the function's arguments for an item of the client. */
  argumentsOf(item: JsonObject, path: string): string;
}

const nameOf = ({ name, namespace }: ToolId): JsonObject =>
  namespace === undefined ? { name } : { name, namespace };

export const CALL_FORMS: Readonly<Record<ToolKind, CallForm>> = {
  function: {
    itemType: "function_call",
    idKind: "fc",
    begin: (tool) => ({ ...nameOf(tool), arguments: "" }),
    end: (args) => ({ arguments: args }),
    argumentsOf: (item, path) => stringAt(item.arguments, `${path}.arguments`),
  },
  custom: {
    itemType: "custom_tool_call",
    idKind: "ctc",
    begin: (tool) => ({ ...nameOf(tool), input: "" }),
    end: (args) => ({ input: inputOf(args) }),
    argumentsOf: (item, path) => JSON.stringify({ input: stringAt(item.input, `${path}.input`) }),
  },
  local_shell: {
    itemType: "local_shell_call",
    idKind: "lsh",
    begin: () => ({ action: { type: "exec", command: [], env: {} } }),
    end: (args) => ({ action: localShellAction(membersIn(args)) }),
    argumentsOf(item, path) {
      const { type: _, ...action } = objectAt(item.action, `${path}.action`);
      listAt(action.command, `${path}.action.command`);
      return JSON.stringify(action);
    },
  },
  shell: {
    itemType: "shell_call",
    idKind: "sh",
    begin: () => ({ action: { commands: [], timeout_ms: null, max_output_length: null } }),
    end: (args) => ({ action: shellAction(membersIn(args)) }),
    argumentsOf(item, path) {
      const action = objectAt(item.action, `${path}.action`);
      listAt(action.commands, `${path}.action.commands`);
      return JSON.stringify(action);
    },
  },
  apply_patch: {
    itemType: "apply_patch_call",
    idKind: "apc",
    begin: () => ({ operation: {} }),
    end: (args) => ({ operation: membersIn(args) }),
    argumentsOf: (item, path) => stringifyExact(objectAt(item.operation, `${path}.operation`)),
  },
  tool_search: {
    itemType: "tool_search_call",
    idKind: "tsc",
    begin: () => ({ execution: "client", arguments: {} }),
    end: (args) => ({ arguments: membersIn(args) }),
    argumentsOf: (item) => stringifyExact(item.arguments ?? {}),
  },
};

const KIND_OF_ITEM = new Map<unknown, ToolKind>(
  Object.entries(CALL_FORMS).map(([kind, { itemType }]) => [itemType, kind as ToolKind]),
);

/** Returns the tool that an item calls; undefined if the item is no call of a client's tool. */
export function toolOfItem(item: JsonObject, path: string): ToolId | undefined {
  const kind = KIND_OF_ITEM.get(item.type);
  if (kind === undefined || isHostedSearch(item)) return undefined;
  if (kind !== "function" && kind !== "custom") return { kind, name: kind };
  const namespace =
    item.namespace == null ? undefined : stringAt(item.namespace, `${path}.namespace`);
  return { kind, name: stringAt(item.name, `${path}.name`), namespace };
}

/** Returns true for a search for tools that OpenAI ran itself. */
export function isHostedSearch({ type, execution }: JsonObject): boolean {
  return String(type).startsWith("tool_search_") && execution !== "client";
}

/** Returns the input of a custom tool, which is the only argument of its function. */
function inputOf(args: string): string {
  const { input } = membersIn(args);
  return typeof input === "string" ? input : args;
}

/** Parses the arguments; malformed ones have no members. */
function membersIn(args: string): JsonObject {
  try {
    const value: unknown = parseCounted(args);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function localShellAction({ command, env, ...others }: JsonObject): JsonObject {
  const words = typeof command === "string" ? ["bash", "-lc", command] : wordsOf(command);
  return { type: "exec", command: words, env: isObject(env) ? env : {}, ...others };
}

function shellAction({ commands, ...others }: JsonObject): JsonObject {
  const lines = typeof commands === "string" ? [commands] : wordsOf(commands);
  return { commands: lines, timeout_ms: null, max_output_length: null, ...others };
}

function wordsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
