/** The tools of one request: the functions that the model sees for them, and the tool for each function's name. */
import {
  type ChatTool,
  fitToolName,
  type JsonObject,
  listAt,
  objectAt,
  PLAIN_TOOL_NAME,
  stringAt,
  withSource,
} from "portico/provider";
import type { Reading } from "../reading.ts";
import type { ToolId } from "./call-forms.ts";
import { clientKind, functionOf, nameOfTool } from "./client-tools.ts";

/** A list of tools in the request. */
export interface ToolList {
  tools: unknown;
  path: string;
  /** True if a search found them or an item added them, so that `defer_loading` has no effect. */
  isLoaded: boolean;
}

interface Entry {
  id: ToolId;
  tool: JsonObject;
  path: string;
}

/** Types of tools that OpenAI runs, with any version at the end. */
const HOSTED =
  /^(?:web_search|image_generation|file_search|code_interpreter|computer|mcp|tool_search|shell|programmatic_tool_calling)(?:_[a-z0-9_]+)?$/;

export class ToolTable {
  readonly #functions = new Map<string, ChatTool>();
  readonly #names = new Map<string, string>();
  readonly #ids = new Map<string, ToolId>();

  get functions(): ChatTool[] {
    return [...this.#functions.values()];
  }

  /** Returns the name of the function that stands for a tool; it is stable within the request. */
  nameOf(id: ToolId): string {
    const key = JSON.stringify([id.kind, id.namespace ?? "", id.name]);
    const existing = this.#names.get(key);
    if (existing !== undefined) return existing;
    const name = this.#freeName(id);
    this.#names.set(key, name);
    this.#ids.set(name, id);
    return name;
  }

  /** Returns the tool that a model has called. An unknown name becomes a function of that name. */
  idOf(name: string): ToolId {
    return this.#ids.get(name) ?? { kind: "function", name };
  }

  has(name: string): boolean {
    return this.#functions.has(name);
  }

  /** Adds a tool. It replaces an earlier one of the same name. */
  add({ id, tool, path }: Entry): void {
    const name = this.nameOf(id);
    const chatTool: ChatTool = {
      type: "function",
      function: { name, ...functionOf(tool, id.kind, path) },
    };
    this.#functions.set(name, withSource(chatTool, path, { function: path }));
  }

  /** Keeps names of the client's functions and custom tools, and makes other names valid and unique. */
  #freeName(id: ToolId): string {
    const { name, namespace } = id;
    const fullName = namespace === undefined ? name : joinNames(namespace, name);
    const isFree = !this.#ids.has(fullName);
    if (isFree && (isOwnName(id) || PLAIN_TOOL_NAME.test(fullName))) return fullName;
    return fitToolName(fullName, this.#ids);
  }
}

function joinNames(namespace: string, name: string): string {
  return namespace.endsWith("__") || name.startsWith("__")
    ? namespace + name
    : `${namespace}__${name}`;
}

interface ListedEntry extends Entry {
  isLoaded: boolean;
}

export function readTools(lists: readonly ToolList[], reading: Reading): ToolTable {
  const listed = lists.flatMap((list) => readList(list, undefined, reading));
  const isSearched = listed.some(({ id }) => id.kind === "tool_search");
  const isHeldBack = ({ tool, isLoaded }: ListedEntry) =>
    isSearched && !isLoaded && tool["defer_loading"] === true;
  const added = listed.filter((entry) => !isHeldBack(entry));
  const table = new ToolTable();
  // Names that must not change are assigned first.
  for (const { id } of added) if (isOwnName(id)) table.nameOf(id);
  for (const entry of added) table.add(entry);
  return table;
}

function readList(list: ToolList, namespace: string | undefined, reading: Reading): ListedEntry[] {
  return listAt(list.tools, list.path).flatMap((value, i) => {
    const path = `${list.path}[${i}]`;
    const tool = objectAt(value, path);
    if (stringAt(tool.type, `${path}.type`) !== "namespace" || namespace !== undefined)
      return readTool(tool, path, { namespace, isLoaded: list.isLoaded, reading });
    const name = stringAt(tool.name, `${path}.name`);
    return readList({ ...list, tools: tool.tools, path: `${path}.tools` }, name, reading);
  });
}

function readTool(
  tool: JsonObject,
  path: string,
  context: { namespace: string | undefined; isLoaded: boolean; reading: Reading },
): ListedEntry[] {
  const { namespace, isLoaded, reading } = context;
  const kind = clientKind(tool);
  if (kind !== undefined) {
    const id: ToolId = { kind, name: nameOfTool(tool, kind, path), namespace };
    return [{ id, tool, path, isLoaded }];
  }
  const type = String(tool.type);
  if (HOSTED.test(type)) reading.drop(path);
  else
    reading.refuse(
      `${path}.type`,
      `Tools of type ${JSON.stringify(type)} are not supported here: use functions`,
    );
  return [];
}

function isOwnName({ kind, namespace }: ToolId): boolean {
  return namespace === undefined && (kind === "function" || kind === "custom");
}
