/** Calling a tool, for everybody who lets a model or a client call one: arguments checked, time bounded. */
import { type Check, compile, PorticoError, type Tool, type ToolCall, withDeadline } from "portico";
import { mcpParts, type ToolPart } from "./mcp-parts.ts";

export type { ToolPart };

const defaultTimeoutMs = 60_000;
const typeboxKind = Symbol.for("TypeBox.Kind");
const checks = new WeakMap<object, Check<unknown>>();

/** The call was refused or timed out. The message is the gateway's own, for the model or the client that made the call. */
export class ToolRefusal extends Error {
  override name = "ToolRefusal";
}

/**
 * Checks the arguments against the tool's schema, runs it within its deadline, and ends it when the caller leaves.
 * Throws `ToolRefusal` or `invalid_request_error` for a bad call, otherwise what the tool throws.
 */
export async function runTool(tool: Tool, args: unknown, call: ToolCall): Promise<unknown> {
  call.signal.throwIfAborted();
  const checked = checkArguments(tool, args);
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  const deadline = new AbortController();
  const signal = AbortSignal.any([call.signal, deadline.signal]);
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", leave, { once: true });
  });
  try {
    const work = Promise.race([tool.handler(checked as never, { ...call, signal }), left]);
    return await withDeadline(work, timeoutMs, () => {
      const error = new ToolRefusal(
        `the tool did not respond within ${timeoutMs} ms and was stopped`,
      );
      deadline.abort(error);
      return error;
    });
  } finally {
    call.signal.removeEventListener("abort", leave);
  }
}

function checkArguments(tool: Tool, args: unknown): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new ToolRefusal("the arguments must be one JSON object");
  }
  // A tool from elsewhere (an MCP server) brings a plain JSON Schema, which its owner checks.
  if (!(typeboxKind in tool.parameters)) return args;
  let check = checks.get(tool.parameters);
  if (check === undefined) {
    check = compile(tool.parameters);
    checks.set(tool.parameters, check);
  }
  return check.parse(args);
}

/** No JSON from outside holds it. */
const OWN = Symbol.for("portico.ownWords");

/** A part of a result, or the whole of it, that is the gateway's own words: the model reads it outside of any fence. */
export interface OwnWords {
  readonly type: "text";
  readonly text: string;
  readonly [OWN]: true;
}

export function ownWords(text: string): OwnWords {
  return { type: "text", text, [OWN]: true };
}

function isOwnWords(value: unknown): value is OwnWords {
  return typeof value === "object" && value !== null && OWN in value;
}

/** Under it a value holds a result in the form of the Model Context Protocol. Reloads must not make another one of it. */
const MCP_RESULT = Symbol.for("portico.mcpResult");

/** The result of a tool of an MCP server. MCP clients get it unchanged; `toolParts` says it to a model. */
export interface McpResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
  [member: string]: unknown;
}

export function mcpResult(result: McpResult): unknown {
  return { [MCP_RESULT]: result };
}

/** The error of a tool that says itself that it has failed. */
export function mcpFailure(result: McpResult): Error {
  const words = mcpParts(result).map((part) => (part.type === "text" ? part.text : "[an image]"));
  const error = new PorticoError("upstream_error", words.join("\n") || "the tool failed");
  return Object.assign(error, { [MCP_RESULT]: result });
}

/** What `mcpResult` and `mcpFailure` were made of; undefined for anything else. */
export function mcpResultOf(value: unknown): McpResult | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { [MCP_RESULT]?: McpResult })[MCP_RESULT];
}

/** A list of content parts as they are, anything else as one text: `Done.` for nothing, JSON for what is no text. */
export function toolParts(value: unknown): ToolPart[] {
  const result = mcpResultOf(value);
  if (result !== undefined) return mcpParts(result);
  if (isOwnWords(value)) return [partOf(value)];
  if (Array.isArray(value) && value.length > 0 && value.every(isPart)) return value.map(partOf);
  if (value === undefined || value === null) return [partOf(ownWords("Done."))];
  return [
    {
      type: "text",
      text: typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)),
    },
  ];
}

/** Parts as chat messages have them (`image_url`), or as MCP has them (`data` and `mimeType`). */
interface GivenPart {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  image_url?: { url: string };
}

function isPart(value: unknown): value is GivenPart {
  return (
    typeof value === "object" &&
    value !== null &&
    ["text", "image", "image_url"].includes((value as GivenPart).type)
  );
}

function partOf(part: GivenPart): ToolPart {
  const { type, text = "", data, mimeType = "image/png", image_url: image } = part;
  if (isOwnWords(part)) return { type: "text", text, isOwn: true };
  if (type === "image" && data) return { type: "image", url: `data:${mimeType};base64,${data}` };
  return type === "image_url" && image ? { type: "image", url: image.url } : { type: "text", text };
}
