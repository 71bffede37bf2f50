/** The tools a turn may call, and calling one: whatever goes wrong becomes a result that the model can read. */
import { isPorticoError, type Logger, type Tool } from "portico";
import { clip, fitsPattern } from "portico/strings";
import type { Access } from "../access/access.ts";
import { runTool, toolParts, ToolRefusal } from "portico/agent";
import type { ChatMessage, ChatTool, ContentPart, ToolCallPart } from "portico/chat";

/** Longest result that goes back to the model. */
const RESULT_CHARS = 50_000;

/**
 * The tools of a turn: those that the agent's settings allow and do not deny, and that the turn's principal may use. Of
 * two with one name the first counts. Rules that depend on a call's arguments belong into `callTool`.
 */
export function allowedTools(
  tools: readonly Tool[],
  rules: { allow: string[]; deny: string[] },
  access: Pick<Access, "mayUseTool">,
): Map<string, Tool> {
  const allowed = new Map<string, Tool>();
  for (const tool of tools) {
    if (allowed.has(tool.name)) continue;
    if (!matchesAny(rules.allow, tool.name) || matchesAny(rules.deny, tool.name)) continue;
    if (access.mayUseTool(tool)) allowed.set(tool.name, tool);
  }
  return allowed;
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => fitsPattern(pattern, name));
}

export function describeTools(tools: ReadonlyMap<string, Tool>): ChatTool[] {
  return [...tools.values()].map((tool) => ({
    type: "function",
    function: {
      name: tool.name,
      description: tool.description,
      parameters: { ...tool.parameters },
    },
  }));
}

export interface ToolRun {
  /** The tool message, and where the result held images, a user message with them. */
  messages: ChatMessage[];
  name: string;
  ok: boolean;
  ms: number;
  error?: string;
}

interface ToolScope {
  tools: ReadonlyMap<string, Tool>;
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  turnId: string;
  workspace: string;
  access: Access;
}

/** Never rejects, except when the turn itself was aborted. */
export async function callTool(call: ToolCallPart, scope: ToolScope): Promise<ToolRun> {
  const began = performance.now();
  const name = call.function?.name ?? "";
  const id = call.id ?? "";
  const ended = (messages: ChatMessage[], error?: string): ToolRun => {
    const ms = performance.now() - began;
    return error === undefined
      ? { messages, name, ok: true, ms }
      : { messages, name, ok: false, ms, error };
  };
  try {
    const tool = scope.tools.get(name);
    if (!tool)
      throw new ToolRefusal(
        `there is no tool named ${JSON.stringify(name)}; there are: ${[...scope.tools.keys()].join(", ")}`,
      );
    const value = await runTool(tool, parseArguments(call.function?.arguments ?? ""), {
      signal: scope.signal,
      log: scope.log,
      sessionKey: scope.sessionKey,
      turnId: scope.turnId,
      workspace: scope.workspace,
      principal: scope.access.principal,
      access: scope.access,
    });
    return ended(resultMessages(id, name, value));
  } catch (error) {
    scope.signal.throwIfAborted();
    const said = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ToolRefusal) && !isPorticoError(error))
      scope.log.warn({ err: error, tool: name }, "tool failed");
    return ended([{ role: "tool", tool_call_id: id, content: `Error: ${clip(said, 2000)}` }], said);
  }
}

function parseArguments(text: string): unknown {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    throw new ToolRefusal(
      "the arguments are no JSON; send one JSON object that fits the tool's parameters",
    );
  }
}

function resultMessages(id: string, name: string, value: unknown): ChatMessage[] {
  const parts = toolParts(value);
  const text = parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
  const images = parts.flatMap((part): ContentPart[] =>
    part.type === "image" ? [{ type: "image_url", image_url: { url: part.url } }] : [],
  );
  const content = text === "" && images.length > 0 ? "See the image." : clip(text, RESULT_CHARS);
  const messages: ChatMessage[] = [{ role: "tool", tool_call_id: id, content }];
  // most models take no image in a tool's result: it follows as a message of the user
  if (images.length > 0) {
    messages.push({
      role: "user",
      content: [{ type: "text", text: `[the result of ${name}]` }, ...images],
    });
  }
  return messages;
}
