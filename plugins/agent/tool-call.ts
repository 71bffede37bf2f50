/** Runs tools on behalf of models and clients, with validated arguments and a time limit. */
import { type Check, compile, PorticoError, type Tool, type ToolCall, withDeadline } from "portico";
import { mcpParts, type ToolPart } from "./mcp-parts.ts";

export type { ToolPart };

const defaultTimeoutMs = 60_000;
const typeboxKind = Symbol.for("TypeBox.Kind");
const checks = new WeakMap<object, Check<unknown>>();

/** The call was refused or timed out. The gateway wrote the message, for the model or the client that made the call. */
export class ToolRefusal extends Error {
  override name = "ToolRefusal";
}

/**
 * Validates the arguments against the tool's schema, runs the tool within its deadline, and aborts it when the caller
 * disconnects. Throws `ToolRefusal` or `invalid_request_error` for a bad call, and passes on the errors of the tool.
 */
export async function runTool(tool: Tool, args: unknown, call: ToolCall): Promise<unknown> {
  call.signal.throwIfAborted();
  const validArgs = checkArguments(tool, args);
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  const deadline = new AbortController();
  const signal = AbortSignal.any([call.signal, deadline.signal]);
  let rejectOnAbort = () => {};
  const abortPromise = new Promise<never>((_, reject) => {
    rejectOnAbort = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", rejectOnAbort, { once: true });
  });
  try {
    const work = Promise.race([
      tool.handler(validArgs as never, { ...call, signal }),
      abortPromise,
    ]);
    return await withDeadline(work, timeoutMs, () => {
      const error = new ToolRefusal(
        `the tool did not respond within ${timeoutMs} ms and was stopped`,
      );
      deadline.abort(error);
      return error;
    });
  } finally {
    call.signal.removeEventListener("abort", rejectOnAbort);
  }
}

function checkArguments(tool: Tool, args: unknown): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new ToolRefusal("the arguments must be one JSON object");
  }
  // A tool of an MCP server has a plain JSON Schema, which the plugin that provides the tool checks.
  if (!(typeboxKind in tool.parameters)) return args;
  let check = checks.get(tool.parameters);
  if (check === undefined) {
    check = compile(tool.parameters);
    checks.set(tool.parameters, check);
  }
  return check.parse(args);
}

/** A symbol, because JSON from outside cannot contain one. */
const OWN = Symbol.for("portico.ownWords");

/** A result, or a part of one, that the gateway wrote itself. The model reads it outside of any fence. */
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

/**
 * The key of a result in the form of the Model Context Protocol. It is registered globally, so that it survives
 * reloads.
 */
const MCP_RESULT = Symbol.for("portico.mcpResult");

/** The result of a tool of an MCP server. MCP clients get it unchanged; `toolParts` converts it for a model. */
export interface McpResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
  [member: string]: unknown;
}

export function mcpResult(result: McpResult): unknown {
  return { [MCP_RESULT]: result };
}

/** Creates the error for a result with `isError`. */
export function mcpFailure(result: McpResult): Error {
  const words = mcpParts(result).map((part) => (part.type === "text" ? part.text : "[an image]"));
  const error = new PorticoError("upstream_error", words.join("\n") || "the tool failed");
  return Object.assign(error, { [MCP_RESULT]: result });
}

/** Returns the result that `mcpResult` or `mcpFailure` wrapped; undefined for any other value. */
export function mcpResultOf(value: unknown): McpResult | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { [MCP_RESULT]?: McpResult })[MCP_RESULT];
}

/**
 * Converts a tool's result: content parts stay as they are; other values become one text, `Done.` for none and JSON for
 * non-strings.
 */
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

/** A content part in the form of chat messages (`image_url`) or of MCP (`data` and `mimeType`). */
interface RawPart {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  image_url?: { url: string };
}

function isPart(value: unknown): value is RawPart {
  return (
    typeof value === "object" &&
    value !== null &&
    ["text", "image", "image_url"].includes((value as RawPart).type)
  );
}

function partOf(part: RawPart): ToolPart {
  const { type, text = "", data, mimeType = "image/png", image_url: image } = part;
  if (isOwnWords(part)) return { type: "text", text, isOwn: true };
  if (type === "image" && data) return { type: "image", url: `data:${mimeType};base64,${data}` };
  return type === "image_url" && image ? { type: "image", url: image.url } : { type: "text", text };
}
