/**
 * How calls of each kind of tool look in the Responses format. A model of any other format knows functions only: a call of
 * it becomes an item of the right type, and an item becomes a call of a function again.
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

/** A tool as its client knows it. */
export interface ToolId {
  kind: ToolKind;
  name: string;
  /** The `namespace` that holds the tool. */
  namespace?: string | undefined;
}

export interface CallForm {
  itemType: string;
  idKind: ItemKind;
  /** Members of an item whose call has begun. */
  begin(tool: ToolId): JsonObject;
  /** Members that are known once the arguments are complete. */
  end(args: string): JsonObject;
  /** The arguments that a client's item stands for. */
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

/** Undefined for items that are no calls of a client's tool. */
export function toolOfItem(item: JsonObject, path: string): ToolId | undefined {
  const kind = KIND_OF_ITEM.get(item.type);
  if (kind === undefined || isHostedSearch(item)) return undefined;
  if (kind !== "function" && kind !== "custom") return { kind, name: kind };
  const namespace =
    item.namespace == null ? undefined : stringAt(item.namespace, `${path}.namespace`);
  return { kind, name: stringAt(item.name, `${path}.name`), namespace };
}

/** A search for tools that OpenAI ran itself. */
export function isHostedSearch({ type, execution }: JsonObject): boolean {
  return String(type).startsWith("tool_search_") && execution !== "client";
}

/** The text of a custom tool stands in the one member of its function. */
function inputOf(args: string): string {
  const { input } = membersIn(args);
  return typeof input === "string" ? input : args;
}

/** Arguments that a model has spoilt have no members. */
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
