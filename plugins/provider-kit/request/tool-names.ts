/**
 * Names of tools, where an upstream takes fewer characters than the client used. Nothing is remembered between requests:
 * a name becomes the same one each time, and the response's calls are named as the client named them.
 */
import { createHash } from "node:crypto";
import type { ChatMessage, ChatRequest, ChatTool } from "../types/format.ts";

export interface ToolNames {
  /** The client's name for one of the upstream's. */
  original(name: string): string;
}

/** Letters, digits, `_` and `-`: what Anthropic, Bedrock and Mistral take. */
export const PLAIN_TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const LONGEST = 64;
const HASH = 12;
/** For requests whose names are sent unchanged. */
export const UNCHANGED_NAMES: ToolNames = { original: (name) => name };

/** The request with names that fit `allowed`, and the way back. The same request where all of them fit. */
export function fitToolNames(
  request: ChatRequest,
  allowed: RegExp = PLAIN_TOOL_NAME,
): { request: ChatRequest; names: ToolNames } {
  const used = namesIn(request);
  const unfit = [...used].filter((name) => !allowed.test(name));
  if (unfit.length === 0) return { request, names: UNCHANGED_NAMES };
  const taken = new Set(used);
  const sent = new Map<string, string>();
  const originals = new Map<string, string>();
  for (const name of unfit) {
    const fit = fitToolName(name, taken);
    taken.add(fit);
    sent.set(name, fit);
    originals.set(fit, name);
  }
  return {
    request: renamed(request, (name) => sent.get(name) ?? name),
    names: { original: (name) => originals.get(name) ?? name },
  };
}

/** What is readable of the name, and a hash of it: no other name of the request becomes the same. */
export function fitToolName(name: string, taken: Pick<ReadonlySet<string>, "has">): string {
  const readable = name.slice(0, LONGEST).replace(/[^A-Za-z0-9_-]/g, "_");
  const start = `${/^[A-Za-z_]/.test(readable) ? "" : "t"}${readable}`.slice(0, LONGEST - HASH - 1);
  for (let attempt = 0; ; attempt++) {
    const hash = createHash("sha256").update(`${name}\n${attempt}`).digest("hex").slice(0, HASH);
    const fit = `${start}_${hash}`;
    if (!taken.has(fit)) return fit;
  }
}

interface Named {
  function?: { name?: unknown } | undefined;
}

/** Skips names that are empty or not strings: the code that reads the request refuses them. */
function namesIn(request: ChatRequest): Set<string> {
  const found = new Set<string>();
  const add = (one: unknown) => {
    const name = (one as Named | null)?.function?.name;
    if (typeof name === "string" && name !== "") found.add(name);
  };
  for (const tool of listOf(request.tools)) add(tool);
  for (const message of request.messages) for (const call of listOf(message.tool_calls)) add(call);
  return found;
}

function renamed(request: ChatRequest, nameOf: (name: string) => string): ChatRequest {
  const rename = <T>(one: T): T => {
    const fn = (one as Named | null)?.function;
    return typeof fn?.name === "string"
      ? { ...one, function: { ...fn, name: nameOf(fn.name) } }
      : one;
  };
  const renameMessage = (message: ChatMessage): ChatMessage => ({
    ...message,
    // Of a tool's message: the tool that it answers for.
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
  rename: <T>(one: T) => T,
  nameOf: (name: string) => string,
): unknown {
  if (typeof value !== "object" || value === null) return value;
  const choice = value as { allowed_tools?: unknown; tools?: unknown };
  const allowed = choice.allowed_tools as { tools?: unknown } | undefined;
  const renameEach = (tools: unknown) =>
    listOf(tools).map((one) => {
      const bare = (one as { name?: unknown } | null)?.name;
      return typeof bare === "string" ? { ...(one as object), name: nameOf(bare) } : rename(one);
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
