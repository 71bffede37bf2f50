/** One turn from its prompt to its answer. What becomes of the answer (transcript, events, retries) is the caller's. */
import { type Client, PorticoError } from "portico";
import type { TurnRequest } from "portico/agent";
import type { ChatMessage, Usage } from "portico/chat";
import type { History } from "./history.ts";
import { runLoop } from "./loop.ts";
import type { AgentSettings, AgentContext } from "../context.ts";
import { inParagraphs, type Listen } from "./progress.ts";
import { SYSTEM_PROMPT, systemMessage, userMessage } from "./prompt.ts";
import { allowedTools } from "./tools.ts";
import { bootstrapFiles } from "./workspace.ts";

/** A turn as it lies in the store. */
export interface TurnBody extends Omit<TurnRequest, "turnId" | "session"> {
  /** A heartbeat, and why it was started. */
  heartbeat?: string;
  /** A hook has answered already: no model is asked. */
  reply?: string;
  /** What hooks have to say beside the answer. */
  notes?: string[];
}

export interface TurnInput {
  turnId: string;
  sessionId: string;
  body: TurnBody;
  settings: AgentSettings;
  history: History;
  /** The user message as it came, where it is more than `body.message` (images). */
  prompt?: ChatMessage;
  /** Parameters of the caller's (temperature, max_tokens, …). */
  parameters?: Record<string, unknown>;
  /** On whose behalf the model is asked; default the owner. */
  client?: Client;
  signal: AbortSignal;
  onDelta(): Listen | undefined;
}

export interface TurnEnd {
  text: string;
  model: string;
  steps: number;
  usage: Usage;
  ended: string;
  /** The user message and everything that followed. */
  messages: ChatMessage[];
}

const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** `message:received` for a turn that has not been announced yet; the body with what handlers changed. Throws `blocked_by_hook`. */
export async function received(agent: AgentContext, sessionId: string, body: TurnBody): Promise<TurnBody> {
  if (body.received || body.heartbeat !== undefined) return body;
  const { ctx } = agent;
  if (!ctx.hasListeners("message:received")) return { ...body, received: true };
  const result = await ctx.emit(
    "message:received",
    {
      content: body.content ?? body.message,
      source: body.source,
      model: body.model,
      metadata: { sessionId, ...body.context },
    },
    { sessionKey: sessionId },
  );
  if (result.block !== undefined) throw new PorticoError("blocked_by_hook", result.block);
  const content = result.context.content;
  return {
    ...body,
    received: true,
    ...contentOf(body, typeof content === "string" ? content : undefined),
    reply: result.reply ?? body.reply,
    notes: [...(body.notes ?? []), ...result.messages],
  };
}

/** What handlers made of the words: those from outside stay in their fence. */
function contentOf(body: TurnBody, content: string | undefined): Partial<TurnBody> {
  if (content === undefined || content === (body.content ?? body.message)) return {};
  if (body.content === undefined) return { message: content };
  return { content, untrusted: [{ label: body.untrusted?.[0]?.label ?? body.source, text: content }] };
}

/** Whatever is in the result's `text` has gone to `onDelta` too, where somebody listens. */
export async function runTurn(agent: AgentContext, input: TurnInput): Promise<TurnEnd> {
  const { body, settings, signal } = input;
  const prompt: ChatMessage = input.prompt ?? { role: "user", content: userMessage(body) };
  const ended = (text: string, rest: Omit<TurnEnd, "text">): TurnEnd => ({
    ...rest,
    text: [...(body.notes ?? []), text].filter((part) => part !== "").join("\n\n"),
  });
  const onDelta = inParagraphs(input.onDelta);
  for (const note of body.notes ?? []) onDelta()?.(note);
  if (body.reply !== undefined) {
    onDelta()?.(body.reply);
    const answer: ChatMessage = { role: "assistant", content: body.reply };
    const messages = [prompt, answer];
    return ended(body.reply, { model: "hook", steps: 0, usage: NO_USAGE, ended: "answered", messages });
  }
  const model = body.model ?? settings.model;
  if (model === "agent" || model.startsWith("agent/")) {
    throw new PorticoError(
      "invalid_request_error",
      `An agent cannot be its own model: set agents.defaults.model to one of GET /v1/models other than ${model}.`,
    );
  }
  const system = await systemFor(agent, input);
  const { ctx } = agent;
  const result = await runLoop({
    chat: ctx.use("chat"),
    request: {
      ...input.parameters,
      model,
      messages: [system, ...input.history.messages, prompt],
      ...(settings.maxTokens === undefined ? {} : { max_tokens: settings.maxTokens }),
      ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    },
    chatOptions: {
      sessionKey: input.sessionId,
      channel: channelOf(body, settings),
      client: input.client,
    },
    tools: allowedTools(ctx.list("tool"), settings.tools),
    maxSteps: settings.maxSteps,
    maxTurnTokens: settings.maxTurnTokens,
    signal,
    log: ctx.log,
    sessionKey: input.sessionId,
    turnId: input.turnId,
    onTool: (run) => {
      const { turnId, sessionId } = input;
      const { name: tool, ok, ms, error } = run;
      void ctx.emit("agent:tool", { turnId, sessionId, tool, ok, ms, error }, { sessionKey: sessionId });
    },
    onDelta,
  });
  const { content, messages, ...rest } = result;
  return ended(content, { ...rest, messages: [prompt, ...messages] });
}

export function channelOf(body: TurnBody, settings: AgentSettings): string | undefined {
  // a model that the request names may well not be on the agent's own channel
  return body.channel ?? (body.model === undefined ? settings.channel : undefined);
}

async function systemFor(agent: AgentContext, input: TurnInput): Promise<ChatMessage> {
  const { settings, sessionId, turnId, body } = input;
  const { context } = await agent.ctx.emit(
    "agent:bootstrap",
    {
      bootstrapFiles: await bootstrapFiles(settings.workspace),
      systemPrompt: settings.systemPrompt ?? SYSTEM_PROMPT,
      workspace: settings.workspace,
      agentId: settings.id,
      source: body.source,
      turnId,
    },
    { sessionKey: sessionId },
  );
  return {
    role: "system",
    content: systemMessage({
      systemPrompt: String(context.systemPrompt ?? ""),
      files: Array.isArray(context.bootstrapFiles) ? context.bootstrapFiles.filter(isFile) : [],
      workspace: settings.workspace,
      sessionId,
      source: body.source,
      now: new Date(agent.store().now()),
      summary: input.history.summary,
    }),
  };
}

/** Hooks hand these back: what is no file is left out instead of breaking the turn. */
function isFile(value: unknown): value is { name: string; path: string; content: string; missing: boolean } {
  const file = value as { name?: unknown; content?: unknown } | null;
  return typeof file?.name === "string" && typeof file.content === "string";
}
