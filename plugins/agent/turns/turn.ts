/** Runs one turn from its prompt to its response. The caller handles the response (transcript, events, retries). */
import { mkdir } from "node:fs/promises";
import { sep } from "node:path";
import type { Client } from "portico";
import type { TurnBody } from "./turn-body.ts";
import type { BootstrapFile } from "portico/agent";
import type { ChatMessage, Usage } from "portico/provider";
import type { History } from "./history.ts";
import { Confirmations } from "./confirmation.ts";
import { type LoopPause, runLoop } from "./loop.ts";
import type { LoopState } from "./loop-state.ts";
import type { TurnEnd } from "./turn-end.ts";
import type { Access } from "../access/access.ts";
import type { AgentSettings, AgentContext } from "../context.ts";
import { channelOf } from "./model.ts";
import { separateParagraphs, type Listen } from "./progress.ts";
import { type Edit, createEditor, hasSendingHandler, applySendingHandlers } from "./sending.ts";
import { SYSTEM_PROMPT, buildSystemMessage, buildUserMessage } from "./prompt.ts";
import { selectAllowedTools, type ToolRun } from "./tools.ts";
import { readBootstrapFiles } from "./workspace.ts";

export interface TurnInput {
  turnId: string;
  sessionId: string;
  body: TurnBody;
  model: string;
  settings: AgentSettings;
  history: History;
  /** The unchanged user message, if it contains more than `body.message` (images). */
  prompt?: ChatMessage | undefined;
  /** The caller's parameters (temperature, max_tokens, …). */
  parameters?: Record<string, unknown> | undefined;
  /** The client on whose behalf the model is asked. Default: the owner. */
  client?: Client | undefined;
  /** The rights of the turn's principal. */
  access: Access;
  /** The progress before the last pause, empty for a new turn. The turn updates it continuously. */
  loop: LoopState;
  signal: AbortSignal;
  onDelta(): Listen | undefined;
  /** Called after each change of `loop.trace`. */
  onTrace(): void;
}

/** The turn has to wait. The caller stores it, and runs it again with the same `loop` and `prompt`. */
export interface TurnPause {
  pause: LoopPause;
  prompt: ChatMessage;
}

const ignoreText: Listen = () => {};
const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * The text of the result also goes to `onDelta` piece by piece, unless nobody listens or a hook must see the whole text
 * first.
 */
export async function runTurn(agent: AgentContext, input: TurnInput): Promise<TurnEnd | TurnPause> {
  const { body, model } = input;
  const prompt: ChatMessage = input.prompt ?? { role: "user", content: buildUserMessage(body) };
  const isResumed = input.loop.trace.length > 0;
  const isHeldBack = hasSendingHandler(agent, body);
  const edit = createEditor(agent, input.sessionId, body, model);
  const listener = () => (isHeldBack ? undefined : input.onDelta());
  // The handlers must see a stream even if this gateway holds it back, or another gateway sends it.
  const onDelta = separateParagraphs(
    edit === undefined ? listener : () => listener() ?? ignoreText,
    isResumed,
  );
  if (!isResumed) for (const note of body.notes ?? []) onDelta()?.(note);
  const response =
    body.reply === undefined
      ? await askAgent(agent, input, { prompt, onDelta, edit })
      : await sendReply(body.reply, { prompt, onDelta, edit });
  if ("until" in response) return { pause: response, prompt };
  const { content, ...rest } = await applySendingHandlers(agent, input.sessionId, body, response);
  const text = [...(body.notes ?? []), content].filter((part) => part !== "").join("\n\n");
  // Listeners of a chat completion receive the text in no other way.
  if (isHeldBack && body.chat !== undefined && text !== "") input.onDelta()?.(text);
  return { ...rest, text };
}

interface ResponseScope {
  prompt: ChatMessage;
  onDelta(): Listen | undefined;
  edit: (() => Edit) | undefined;
}

type UneditedResponse = Omit<TurnEnd, "text"> & { content: string };

/** Sends the response of a hook, which replaces the model's. */
async function sendReply(
  reply: string,
  { prompt, onDelta, edit }: ResponseScope,
): Promise<UneditedResponse> {
  const content = edit === undefined ? reply : await edit()(reply, true);
  onDelta()?.(content);
  const messages = [prompt, { role: "assistant", content }];
  return { content, model: "hook", steps: 0, usage: NO_USAGE, ended: "answered", messages };
}

async function askAgent(
  agent: AgentContext,
  input: TurnInput,
  { prompt, onDelta, edit }: ResponseScope,
): Promise<UneditedResponse | LoopPause> {
  const { body, model, settings, access, signal, turnId, sessionId, loop } = input;
  const { ctx, costs } = agent;
  const system = await prepareSystemMessage(agent, input);
  const options = {
    chat: ctx.use("chat"),
    request: {
      ...input.parameters,
      model,
      messages: [system, ...input.history.messages, prompt],
      ...(settings.maxTokens === undefined ? {} : { max_tokens: settings.maxTokens }),
      ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    },
    chatOptions: {
      sessionKey: sessionId,
      channel: channelOf(body, settings),
      client: input.client,
      principal: access.principal,
    },
    tools: selectAllowedTools(ctx.list("tool"), settings.tools, access),
    access,
    confirmations: new Confirmations(agent.store(), settings.tools),
    costs,
    maxSteps: settings.maxSteps,
    maxTurnTokens: settings.maxTurnTokens,
    signal,
    log: ctx.log,
    sessionKey: sessionId,
    turnId,
    workspace: settings.workspace,
    onTool: ({ name: tool, ok, ms, error }: ToolRun) => {
      void ctx.emit(
        "agent:tool",
        { turnId, sessionId, tool, ok, ms, error },
        { sessionKey: sessionId, principal: access.principal },
      );
    },
    onTrace: () => input.onTrace(),
    now: () => agent.store().now(),
    onDelta,
    edit,
  };
  const result = await runLoop(options, loop).finally(() => costs.forget(loop.trace));
  if ("until" in result) return result;
  return { ...result, messages: [prompt, ...result.messages] };
}

async function prepareSystemMessage(agent: AgentContext, input: TurnInput): Promise<ChatMessage> {
  const { settings, sessionId, turnId, body, access } = input;
  // Hooks that add files of the workspace thereby add those that the principal may see.
  const workspace = access.ownDirectory ?? settings.workspace;
  if (!access.isOwner) await mkdir(workspace, { recursive: true, mode: 0o700 });
  const { context, refusal } = await agent.ctx.emit(
    "agent:bootstrap",
    {
      bootstrapFiles: await readBootstrapFiles(settings.workspace, access),
      systemPrompt: settings.systemPrompt ?? SYSTEM_PROMPT,
      workspace,
      agentId: settings.id,
      source: body.source,
      turnId,
    },
    { sessionKey: sessionId, principal: access.principal },
  );
  if (refusal) throw refusal;
  return {
    role: "system",
    content: buildSystemMessage({
      systemPrompt: String(context.systemPrompt ?? ""),
      files: selectFiles(access, context.bootstrapFiles),
      workspace: access.isOwner ? workspace : "a directory of your own",
      sessionId,
      source: body.source,
      now: new Date(agent.store().now()),
      summary: input.history.summary,
    }),
  };
}

/**
 * Marks the files in a principal's own directory as data, regardless of the hook that adds them, because outsiders
 * wrote them.
 */
function selectFiles({ ownDirectory }: Access, value: unknown): BootstrapFile[] {
  const files = Array.isArray(value) ? value.filter(isFile) : [];
  if (ownDirectory === undefined) return files;
  return files.map((file) => {
    const isOwn = String(file.path).startsWith(ownDirectory + sep);
    return isOwn ? { ...file, fromOutside: true } : file;
  });
}

/** Validates a value that a hook returned. Invalid ones are left out instead of breaking the turn. */
function isFile(value: unknown): value is BootstrapFile {
  const file = value as { name?: unknown; content?: unknown } | null;
  return typeof file?.name === "string" && typeof file.content === "string";
}
