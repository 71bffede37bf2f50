/** The models `agent` and `agent/<id>` of the chat endpoint: a whole turn, with its tools, over the caller's messages. */
import { isPorticoError, newId, PorticoError } from "portico";
import {
  type CallInfo,
  type ChatChunk,
  type ChatCompletion,
  type ChatMessage,
  type ChatProvider,
  type ChatRequest,
  isUnnamedSession,
  type Target,
} from "portico/chat";
import { textOf } from "./turns/ask.ts";
import { MAIN_AGENT, type AgentContext, shownError } from "./context.ts";
import type { Listen } from "./turns/progress.ts";
import { runTurn, type TurnBody, type TurnEnd } from "./turns/turn.ts";

type Info = Target & CallInfo;

/** Parameters that the agent's own calls of the model take over. */
const PASSED = [
  "temperature",
  "top_p",
  "frequency_penalty",
  "presence_penalty",
  "max_tokens",
  "max_completion_tokens",
  "seed",
  "stop",
  "response_format",
];

export function agentProvider(agent: AgentContext): ChatProvider {
  return {
    name: "agent",
    description: "A full turn of the agent, with its tools",
    builtinChannel: "agent",
    composite: true,
    models: () => agent.agentIds(),
    complete: async (request, info) => completion(await chatTurn(agent, request, info, undefined), info),
    stream: (request, info) => streamTurn(agent, request, info),
  };
}

async function chatTurn(
  agent: AgentContext,
  request: ChatRequest,
  info: Info,
  onDelta: Listen | undefined,
): Promise<TurnEnd> {
  const turnId = newId("turn");
  const agentId = info.model === "agent" ? MAIN_AGENT : info.model;
  const settings = agent.settings(agentId);
  const sessionId = sessionOf(info);
  const { history, prompt } = split(request.messages);
  if (typeof request["n"] === "number" && request["n"] > 1) {
    throw new PorticoError("invalid_request_error", "An agent gives one answer: leave out n.", { param: "n" });
  }
  for (const key of ["tools", "tool_choice"]) if (request[key] != null) info.dropped.push(key);
  const body: TurnBody = { message: textOf(prompt), source: "chat", agent: agentId, received: true };
  const names = { turnId, sessionId, agentId, source: "chat" };
  const began = performance.now();
  const { ctx } = agent;
  const late = AbortSignal.timeout(settings.timeoutMs);
  try {
    const end = await ctx.busy(
      runTurn(agent, {
        turnId,
        sessionId,
        body,
        prompt,
        settings,
        client: info.client,
        history: { messages: history },
        parameters: Object.fromEntries(PASSED.flatMap((key) => (request[key] == null ? [] : [[key, request[key]]]))),
        signal: AbortSignal.any([info.signal, late]),
        onDelta: () => onDelta,
      }),
    );
    const messages = end.messages.map((each) => ({ role: each.role, body: each, turnId }));
    await agent
      .store()
      .enqueue({ messages: [{ session: sessionId, messages, meta: { agent: agentId, source: "chat" } }] });
    const { prompt_tokens, completion_tokens, total_tokens } = end.usage;
    void ctx.emit(
      "agent:completed",
      {
        ...names,
        content: end.text,
        model: end.model,
        steps: end.steps,
        attempts: 1,
        usage: { prompt_tokens, completion_tokens, total_tokens },
        ms: performance.now() - began,
      },
      { sessionKey: sessionId },
    );
    return end;
  } catch (thrown) {
    const error = late.aborted
      ? new PorticoError("timeout", `The turn did not end within ${settings.timeoutMs} ms.`)
      : thrown;
    void ctx.emit(
      "agent:failed",
      { ...names, error: shownError(error), attempts: 1, willRetry: false },
      { sessionKey: sessionId },
    );
    throw asOwn(error);
  }
}

/** A caller who names no session gets one for this request: its own messages are the history. */
function sessionOf(info: Info): string {
  const { sessionKey } = info;
  return isUnnamedSession(sessionKey) ? `${sessionKey || "chat"}:${info.requestId}` : sessionKey;
}

/** The model's failure as the turn's: the router must not run a whole turn again, with all that its tools did. */
function asOwn(thrown: unknown): unknown {
  if (!isPorticoError(thrown)) return thrown;
  const { code, message, status, param, type, headers } = thrown;
  return new PorticoError(code, message, {
    status,
    param,
    type,
    headers: { ...headers, "x-should-retry": "false" },
    cause: thrown,
  });
}

function split(messages: readonly ChatMessage[]): { history: ChatMessage[]; prompt: ChatMessage } {
  const last = messages.findLastIndex((message) => message.role === "user");
  const found = messages[last];
  if (!found) {
    throw new PorticoError("invalid_request_error", "An agent's turn needs a message of the user.", {
      param: "messages",
    });
  }
  return { history: messages.filter((_, index) => index !== last), prompt: found };
}

function completion(end: TurnEnd, info: Info): ChatCompletion {
  return {
    id: info.id,
    object: "chat.completion",
    created: info.created,
    model: modelName(info),
    choices: [{ index: 0, message: { role: "assistant", content: end.text }, finish_reason: "stop" }],
    usage: end.usage,
  };
}

function modelName(info: Info): string {
  return info.model === "agent" ? "agent" : `agent/${info.model}`;
}

async function* streamTurn(agent: AgentContext, request: ChatRequest, info: Info): AsyncGenerator<ChatChunk | string> {
  const pieces: string[] = [];
  let wake = () => {};
  const turn = chatTurn(agent, request, info, (text) => {
    pieces.push(text);
    wake();
  });
  let ended = false;
  const end = () => {
    ended = true;
    wake();
  };
  turn.then(end, end);
  for (;;) {
    for (const piece of pieces.splice(0)) yield piece;
    if (ended && pieces.length === 0) break;
    if (pieces.length === 0 && !ended) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const result = await turn;
  yield {
    id: info.id,
    object: "chat.completion.chunk",
    created: info.created,
    model: modelName(info),
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    usage: result.usage,
  };
}
