/** The models `agent` and `agent/<id>` of the chat endpoint, which run an ordinary turn on the caller's messages. */
import { isPorticoError, PorticoError } from "portico";
import { errors } from "./errors.ts";
import { newId } from "./ids.ts";
import type { AgentService } from "portico/agent";
import type {
  CallInfo,
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatProvider,
  ChatRequest,
  Target,
  Usage,
} from "portico/provider";
import { isUnnamedSession } from "portico/models";
import { newWorker } from "portico/schedules";
import { type AgentContext, MAIN_AGENT } from "./context.ts";
import type { Caller, Listen, Progress } from "./turns/progress.ts";
import type { TurnBody } from "./turns/turn-body.ts";
import { cleanSessionName } from "./session-name.ts";
import { textOf } from "./turns/ask.ts";
import { selectionFor } from "./turns/sending.ts";

type Info = Target & CallInfo;
type Response = { text: string; usage: Usage | undefined };

/** Parameters of the caller's request that the agent's requests to its model use too. */
const FORWARDED_PARAMETERS = [
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

interface Deps {
  agent: AgentContext;
  service: AgentService;
  progress: Progress;
}

export function createAgentProvider(deps: Deps): ChatProvider {
  const caller = newWorker();
  return {
    name: "agent",
    description: "A full agent turn, with its tools",
    builtinChannel: "agent",
    composite: true,
    sends: true,
    models: () => deps.agent.agentIds(),
    complete: async (request, info) =>
      toCompletion(await runChatTurn(deps, caller, request, info, undefined), info),
    stream: (request, info) =>
      streamTurn(deps, (listen) => runChatTurn(deps, caller, request, info, listen), info),
  };
}

/** Puts the turn into the queue and waits for it; a caller who disconnects cancels it. */
async function runChatTurn(
  { agent, service, progress }: Deps,
  caller: string,
  request: ChatRequest,
  info: Info,
  listen: Listen | undefined,
): Promise<Response> {
  const { signal } = info;
  checkAgent(agent, info);
  const { turnId, item } = service.turnItem(
    buildTurnRequest(request, info, caller, listen !== undefined),
  );
  // This comes before the request is stored, so that a client whose storage is full stores nothing more.
  const { message, principal = "owner" } = item.body as TurnBody;
  await agent.storage.admit(principal, Buffer.byteLength(message), "transcript");
  // The caller gets the error at once instead of waiting for the next attempt.
  item.maxAttempts = 1;
  let settlement: Parameters<Caller["settle"]>[0] | undefined;
  const disposers = [
    progress.attend(turnId, { client: info.client, settle: (result) => (settlement = result) }),
  ];
  if (listen) disposers.push(progress.onDelta(turnId, listen));
  try {
    await agent.store().enqueue({ items: [item] });
    const status = await service.waitFor(turnId, { signal });
    if (settlement && "error" in settlement) throw settlement.error;
    if (settlement) return settlement.end;
    // The turn ran in another gateway.
    const { result = "", usage } = service.endOf(status);
    listen?.(result);
    return { text: result, usage };
  } catch (error) {
    if (signal.aborted) await service.cancel(turnId).catch(() => {});
    throw asTurnError(error);
  } finally {
    for (const dispose of disposers) dispose();
  }
}

const agentOf = ({ model }: Info): string => (model === "agent" ? MAIN_AGENT : model);

/** Throws the error of any unknown model. */
function checkAgent(agent: AgentContext, info: Info): void {
  if (agent.agentIds().includes(agentOf(info))) return;
  throw errors.unknownAgent({ agent: agentOf(info) }, { param: "model" });
}

function buildTurnRequest(request: ChatRequest, info: Info, caller: string, isStreamed: boolean) {
  if (typeof request["n"] === "number" && request["n"] > 1)
    throw errors.severalAnswers({ param: "n" });
  for (const key of ["tools", "tool_choice"]) if (request[key] != null) info.dropped.push(key);
  const { history, prompt } = splitMessages(request.messages);
  const parameters = Object.fromEntries(
    FORWARDED_PARAMETERS.flatMap((key) => (request[key] == null ? [] : [[key, request[key]]])),
  );
  const body: TurnBody = {
    message: textOf(prompt),
    source: "chat",
    principal: info.principal,
    agent: agentOf(info),
    received: true,
    stream: isStreamed && info.leaves,
    chat: { history, prompt, parameters, caller, leaves: info.leaves },
  };
  return { ...body, turnId: newId("turn"), ...sessionOf(info) };
}

/** Returns a temporary session for a caller who names none: the history is in the caller's messages. */
function sessionOf({ sessionKey, requestId }: Info): { session: string; temporary: boolean } {
  const temporary = isUnnamedSession(sessionKey);
  return {
    session: cleanSessionName(temporary ? `${sessionKey || "chat"}:${requestId}` : sessionKey),
    temporary,
  };
}

/** Wraps a failure of the model, so that the router does not retry a whole turn and repeat the effects of its tools. */
function asTurnError(error: unknown): unknown {
  if (!isPorticoError(error)) return error;
  const { code, message, status, param, type, headers } = error;
  // A client may retry after a limit or an overload, so the header must not forbid that.
  const isPassing = [429, 503, 504, 529].includes(status);
  return new PorticoError(code, message, {
    status,
    param,
    type,
    headers: isPassing ? headers : { ...headers, "x-should-retry": "false" },
    cause: error,
  });
}

function splitMessages(messages: readonly ChatMessage[]): {
  history: ChatMessage[];
  prompt: ChatMessage;
} {
  const last = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[last];
  if (!prompt) throw errors.noUserMessage({ param: "messages" });
  return { history: messages.filter((_, index) => index !== last), prompt };
}

function toCompletion({ text, usage }: Response, info: Info): ChatCompletion {
  return {
    id: info.id,
    object: "chat.completion",
    created: info.created,
    model: modelName(info),
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage,
  };
}

function modelName(info: Info): string {
  return info.model === "agent" ? "agent" : `agent/${info.model}`;
}

async function* streamTurn(
  { agent }: Deps,
  run: (listen: Listen) => Promise<Response>,
  info: Info,
): AsyncGenerator<ChatChunk | string> {
  const deltas: string[] = [];
  let hasEnded = false;
  let wake = () => {};
  const turn = run((text) => {
    deltas.push(text);
    wake();
  });
  const end = () => {
    hasEnded = true;
    wake();
  };
  turn.then(end, end);
  const head = {
    id: info.id,
    object: "chat.completion.chunk" as const,
    created: info.created,
    model: modelName(info),
  };
  // Handlers hold the text back until the response is complete, so an empty chunk tells the client that work has begun.
  if (
    info.leaves === true &&
    agent.ctx.hasHandlers("message:sending", selectionFor({ stream: true }))
  )
    yield {
      ...head,
      choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
    };
  while (!hasEnded || deltas.length > 0) {
    yield* deltas.splice(0);
    if (hasEnded || deltas.length > 0) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  const { usage } = await turn;
  yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
}
