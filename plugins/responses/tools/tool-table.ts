/** The tools of one request: the functions that a model sees for them, and the way back from a function's name. */
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
  /** A search found them, or an item added them: `defer_loading` does not hold them back. */
  isLoaded: boolean;
}

interface Entry {
  id: ToolId;
  tool: JsonObject;
  path: string;
}

/** Tools that OpenAI runs, whatever version their names end with. */
const HOSTED =
  /^(?:web_search|image_generation|file_search|code_interpreter|computer|mcp|tool_search|shell|programmatic_tool_calling)(?:_[a-z0-9_]+)?$/;

export class ToolTable {
  readonly #functions = new Map<string, ChatTool>();
  readonly #names = new Map<string, string>();
  readonly #ids = new Map<string, ToolId>();

  get functions(): ChatTool[] {
    return [...this.#functions.values()];
  }

  /** The name of the function that stands for a tool; the same one each time. */
  nameOf(id: ToolId): string {
    const key = JSON.stringify([id.kind, id.namespace ?? "", id.name]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = this.#freeName(id);
    this.#names.set(key, name);
    this.#ids.set(name, id);
    return name;
  }

  /** The tool that a model has called. A name that stands for none is passed on as a function's. */
  idOf(name: string): ToolId {
    return this.#ids.get(name) ?? { kind: "function", name };
  }

  has(name: string): boolean {
    return this.#functions.has(name);
  }

  /** A later tool of the same name takes the place of an earlier one. */
  add({ id, tool, path }: Entry): void {
    const name = this.nameOf(id);
    const chatTool: ChatTool = {
      type: "function",
      function: { name, ...functionOf(tool, id.kind, path) },
    };
    this.#functions.set(name, withSource(chatTool, path, { function: path }));
  }

  /** Names of a client's own choice stay; all others are made to fit, and to differ from every other one. */
  #freeName(id: ToolId): string {
    const { name, namespace } = id;
    const wanted = namespace === undefined ? name : joined(namespace, name);
    const isFree = !this.#ids.has(wanted);
    if (isFree && (isOwnName(id) || PLAIN_TOOL_NAME.test(wanted))) return wanted;
    return fitToolName(wanted, this.#ids);
  }
}

function joined(namespace: string, name: string): string {
  return namespace.endsWith("__") || name.startsWith("__")
    ? namespace + name
    : `${namespace}__${name}`;
}

interface Listed extends Entry {
  isLoaded: boolean;
}

export function readTools(lists: readonly ToolList[], reading: Reading): ToolTable {
  const listed = lists.flatMap((list) => readList(list, undefined, reading));
  const isSearched = listed.some(({ id }) => id.kind === "tool_search");
  const isHeldBack = ({ tool, isLoaded }: Listed) =>
    isSearched && !isLoaded && tool["defer_loading"] === true;
  const added = listed.filter((entry) => !isHeldBack(entry));
  const table = new ToolTable();
  // First the names that must stay as they are.
  for (const { id } of added) if (isOwnName(id)) table.nameOf(id);
  for (const entry of added) table.add(entry);
  return table;
}

function readList(list: ToolList, namespace: string | undefined, reading: Reading): Listed[] {
  return listAt(list.tools, list.path).flatMap((value, i) => {
    const path = `${list.path}[${i}]`;
    const tool = objectAt(value, path);
    if (stringAt(tool.type, `${path}.type`) !== "namespace" || namespace !== undefined)
      return readOne(tool, path, { namespace, isLoaded: list.isLoaded, reading });
    const name = stringAt(tool.name, `${path}.name`);
    return readList({ ...list, tools: tool.tools, path: `${path}.tools` }, name, reading);
  });
}

function readOne(
  tool: JsonObject,
  path: string,
  surroundings: { namespace: string | undefined; isLoaded: boolean; reading: Reading },
): Listed[] {
  const { namespace, isLoaded, reading } = surroundings;
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
