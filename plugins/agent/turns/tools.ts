/** Selects the tools of a turn and calls them. Any failure becomes a result that the model can read. */
import { isPorticoError, type Logger, type Tool } from "portico";
import { fitsPattern } from "portico/strings";
import type { Access } from "../access/access.ts";
import { runTool, type ToolPart, toolParts, ToolRefusal } from "portico/agent";
import type { ChatMessage, ToolCallPart } from "portico/provider";
import { buildErrorMessages, buildResultMessages } from "./tool-results.ts";

/**
 * Returns the tools that the agent's settings allow and do not deny, and that the turn's principal may use. If two have
 * the same name, the first one counts. Rules that depend on a call's arguments belong in `callTool`.
 */
export function selectAllowedTools(
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

export interface ToolRun {
  /** The tool message, and a user message with the images of the result if it has any. */
  messages: ChatMessage[];
  name: string;
  ok: boolean;
  ms: number;
  error?: string;
  /** The parts of the result, without fences. */
  parts: readonly ToolPart[];
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

/** Runs a call. Rejects only if the turn itself was aborted. */
export async function callTool(call: ToolCallPart, scope: ToolScope): Promise<ToolRun> {
  const startTime = performance.now();
  const name = call.function?.name ?? "";
  const id = call.id ?? "";
  const tool = scope.tools.get(name);
  try {
    if (!tool) throw createUnknownToolError(name, scope.tools);
    const value = await runTool(tool, parseArguments(call.function?.arguments ?? ""), {
      signal: scope.signal,
      log: scope.log,
      sessionKey: scope.sessionKey,
      turnId: scope.turnId,
      workspace: scope.workspace,
      principal: scope.access.principal,
      access: scope.access,
    });
    const messages = buildResultMessages({ id, name }, value);
    return { messages, name, ok: true, ms: performance.now() - startTime, parts: toolParts(value) };
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof ToolRefusal) && !isPorticoError(error))
      scope.log.warn({ err: error, tool: name }, "tool failed");
    return createFailedRun(call, error, { tool, ms: performance.now() - startTime });
  }
}

/** Returns the result of a call that does not run. The model reads the reason, which is the gateway's own text. */
export function createRefusedRun(call: ToolCallPart, reason: string): ToolRun {
  return createFailedRun(call, new ToolRefusal(reason), { tool: undefined, ms: 0 });
}

function createFailedRun(
  { id = "", function: calledFunction }: ToolCallPart,
  thrown: unknown,
  { tool, ms }: { tool: Tool | undefined; ms: number },
): ToolRun {
  const name = calledFunction?.name ?? "";
  const error = thrown instanceof Error ? thrown.message : String(thrown);
  const messages = buildErrorMessages({ id, name }, thrown, tool);
  return { messages, name, ok: false, ms, error, parts: [] };
}

function createUnknownToolError(name: string, tools: ReadonlyMap<string, Tool>): ToolRefusal {
  const names = [...tools.keys()].join(", ");
  return new ToolRefusal(`there is no tool named ${JSON.stringify(name)}; there are: ${names}`);
}

function parseArguments(text: string): unknown {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    throw new ToolRefusal(
      "the arguments are not valid JSON; send one JSON object that matches the tool's parameters",
    );
  }
}
