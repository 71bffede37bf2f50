/**
 * Maps names of tools to names that the upstream accepts, and back in the calls of the response. No state is kept between
 * requests: the same name always maps to the same one.
 */
import { createHash } from "node:crypto";
import type { ChatMessage, ChatRequest, ChatTool } from "../types/format.ts";

export interface ToolNames {
  /** Returns the client's name of a tool by the name that was sent to the upstream. */
  original(name: string): string;
}

/** The names that Anthropic, Bedrock and Mistral accept: letters, digits, `_` and `-`. */
export const PLAIN_TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const MAX_LENGTH = 64;
const HASH_LENGTH = 12;
/** The mapping of requests whose names are sent unchanged. */
export const UNCHANGED_NAMES: ToolNames = { original: (name) => name };

/** Returns the request with names that match `allowed`, and the reverse mapping. The same request if all names match. */
export function fitToolNames(
  request: ChatRequest,
  allowed: RegExp = PLAIN_TOOL_NAME,
): { request: ChatRequest; names: ToolNames } {
  const names = namesIn(request);
  const refusedNames = [...names].filter((name) => !allowed.test(name));
  if (refusedNames.length === 0) return { request, names: UNCHANGED_NAMES };
  const usedNames = new Set(names);
  const fittedNames = new Map<string, string>();
  const originals = new Map<string, string>();
  for (const name of refusedNames) {
    const fitted = fitToolName(name, usedNames);
    usedNames.add(fitted);
    fittedNames.set(name, fitted);
    originals.set(fitted, name);
  }
  return {
    request: renameTools(request, (name) => fittedNames.get(name) ?? name),
    names: { original: (name) => originals.get(name) ?? name },
  };
}

/** Returns the allowed characters of the name and a hash of it, such that the result is not in `usedNames`. */
export function fitToolName(name: string, usedNames: Pick<ReadonlySet<string>, "has">): string {
  const readable = name.slice(0, MAX_LENGTH).replace(/[^A-Za-z0-9_-]/g, "_");
  const start = `${/^[A-Za-z_]/.test(readable) ? "" : "t"}${readable}`.slice(
    0,
    MAX_LENGTH - HASH_LENGTH - 1,
  );
  for (let attempt = 0; ; attempt++) {
    const hash = createHash("sha256")
      .update(`${name}\n${attempt}`)
      .digest("hex")
      .slice(0, HASH_LENGTH);
    const fitted = `${start}_${hash}`;
    if (!usedNames.has(fitted)) return fitted;
  }
}

interface Named {
  function?: { name?: unknown } | undefined;
}

/** Skips names that are empty or not strings, because the code that reads the request refuses them. */
function namesIn(request: ChatRequest): Set<string> {
  const names = new Set<string>();
  const add = (item: unknown) => {
    const name = (item as Named | null)?.function?.name;
    if (typeof name === "string" && name !== "") names.add(name);
  };
  for (const tool of listOf(request.tools)) add(tool);
  for (const message of request.messages) for (const call of listOf(message.tool_calls)) add(call);
  return names;
}

function renameTools(request: ChatRequest, nameOf: (name: string) => string): ChatRequest {
  const rename = <T>(item: T): T => {
    const fn = (item as Named | null)?.function;
    return typeof fn?.name === "string"
      ? { ...item, function: { ...fn, name: nameOf(fn.name) } }
      : item;
  };
  const renameMessage = (message: ChatMessage): ChatMessage => ({
    ...message,
    // A message of the role `function` has the name of its tool.
    name:
      message.role === "function" && message.name !== undefined
        ? nameOf(message.name)
        : message.name,
    tool_calls: Array.isArray(message.tool_calls)
      ? message.tool_calls.map(rename)
      : message.tool_calls,
  });
  return {
    ...request,
    tools: Array.isArray(request.tools)
      ? request.tools.map((tool: ChatTool) => rename(tool))
      : request.tools,
    tool_choice: renameChoice(request["tool_choice"], rename, nameOf),
    messages: request.messages.map(renameMessage),
  };
}

function renameChoice(
  value: unknown,
  rename: <T>(item: T) => T,
  nameOf: (name: string) => string,
): unknown {
  if (typeof value !== "object" || value === null) return value;
  const choice = value as { allowed_tools?: unknown; tools?: unknown };
  const allowed = choice.allowed_tools as { tools?: unknown } | undefined;
  const renameEach = (tools: unknown) =>
    listOf(tools).map((tool) => {
      const name = (tool as { name?: unknown } | null)?.name;
      return typeof name === "string" ? { ...(tool as object), name: nameOf(name) } : rename(tool);
    });
  if (allowed !== undefined)
    return { ...choice, allowed_tools: { ...allowed, tools: renameEach(allowed.tools) } };
  return choice.tools === undefined
    ? rename(choice)
    : { ...choice, tools: renameEach(choice.tools) };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
