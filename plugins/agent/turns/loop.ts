/** The turn loop: ask the model, call its tools, ask again, until it answers or a limit is reached. */
import type { Logger, Tool } from "portico";
import type { ChatMessage, ChatOptions, ChatRequest, ChatService, Usage } from "portico/chat";
import type { Access } from "../access/access.ts";
import { ask, textOf } from "./ask.ts";
import type { Listen } from "../queue/progress.ts";
import type { Edit } from "./sending.ts";
import { describeTools } from "./tool-descriptions.ts";
import { callTool, type ToolRun } from "./tools.ts";

export interface LoopOptions {
  chat: ChatService;
  /** Model and parameters; `messages` is what the turn begins with. */
  request: ChatRequest;
  chatOptions: ChatOptions;
  tools: ReadonlyMap<string, Tool>;
  maxSteps: number;
  maxTurnTokens: number | undefined;
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  turnId: string;
  workspace: string;
  access: Access;
  onTool(run: ToolRun): void;
  /** Where the next paragraph of what is said goes. */
  onDelta(): Listen | undefined;
  /** Edits what is said to listeners, by the answer. */
  edit: (() => Edit) | undefined;
}

export interface LoopResult {
  /** The final answer. */
  content: string;
  /** What the turn added, the answer included. */
  messages: ChatMessage[];
  model: string;
  steps: number;
  usage: Usage;
  /** `answered`, or the limit that ended it. */
  ended: "answered" | "max_steps" | "max_tokens" | "tool_loop";
}

/** The same call with the same result this often means that the model goes in a circle. */
const CIRCLE = 4;

export async function runLoop(options: LoopOptions): Promise<LoopResult> {
  const { chat, request, tools, signal } = options;
  const added: ChatMessage[] = [];
  const usage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const seen = new Map<string, number>();
  const offered = describeTools(tools);
  let model = request.model;

  for (let step = 1; ; step++) {
    signal.throwIfAborted();
    const last = step === options.maxSteps;
    const answer = await ask(
      chat,
      {
        ...request,
        messages: [...request.messages, ...added],
        ...(offered.length > 0 ? { tools: offered } : {}),
        // the last step is for an answer: a model that may still call tools would end with nothing said
        ...(offered.length > 0 && last && step > 1 ? { tool_choice: "none" } : {}),
      },
      { ...options.chatOptions, signal },
      options.onDelta(),
      options.edit?.(),
    );
    signal.throwIfAborted();
    model = answer.model;
    addUsage(usage, answer.usage);
    added.push(answer.message);
    const calls = answer.message.tool_calls ?? [];
    const content = textOf(answer.message);
    const result = (ended: LoopResult["ended"], text: string): LoopResult => {
      if (ended !== "answered") replaceLast(added, text);
      return { content: text, messages: added, model, steps: step, usage, ended };
    };
    if (calls.length === 0) return result("answered", content);
    const stopped = (why: string): string => {
      const notice = `[Stopped: ${why}.]`;
      options.onDelta()?.(notice);
      return content === "" ? notice : `${content}\n\n${notice}`;
    };
    if (last)
      return result("max_steps", stopped(`the limit of ${options.maxSteps} steps was reached`));
    if (options.maxTurnTokens !== undefined && usage.total_tokens >= options.maxTurnTokens) {
      return result(
        "max_tokens",
        stopped(`the limit of ${options.maxTurnTokens} tokens was reached`),
      );
    }
    let circling = false;
    const images: ChatMessage[] = [];
    for (const [index, call] of calls.entries()) {
      call.id ||= `call_${step}_${index}`;
      const run = await callTool(call, {
        tools,
        signal,
        log: options.log,
        sessionKey: options.sessionKey,
        turnId: options.turnId,
        workspace: options.workspace,
        access: options.access,
      });
      options.onTool(run);
      added.push(...run.messages.filter((message) => message.role === "tool"));
      const key = JSON.stringify([call.function?.name, call.function?.arguments, run.outcome]);
      const times = (seen.get(key) ?? 0) + 1;
      seen.set(key, times);
      if (times >= CIRCLE) circling = true;
      images.push(...run.messages.filter((message) => message.role !== "tool"));
    }
    // all results of a step come before anything else, or the next call is refused
    added.push(...images);
    if (circling) {
      const text = stopped("the same tool was called again and again with the same result");
      added.push({ role: "assistant", content: text });
      return { content: text, messages: added, model, steps: step, usage, ended: "tool_loop" };
    }
  }
}

/** Calls that nobody answered must not stay in the transcript: every provider refuses such a conversation. */
function replaceLast(messages: ChatMessage[], content: string): void {
  messages.pop();
  messages.push({ role: "assistant", content });
}

function addUsage(sum: Usage, usage: Usage | undefined): void {
  sum.prompt_tokens += usage?.prompt_tokens ?? 0;
  sum.completion_tokens += usage?.completion_tokens ?? 0;
  sum.total_tokens += usage?.total_tokens ?? 0;
}
