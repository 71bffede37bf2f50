/** The turn loop: ask the model, call its tools, ask again, until it answers or a limit is reached. */
import { createHash } from "node:crypto";
import type { Logger, Tool } from "portico";
import type { TracedStep, WaitingCall } from "portico/agent";
import type { ChatMessage, ChatRequest, ChatTool, ToolCallPart, Usage } from "portico/provider";
import type { ChatOptions, ChatService } from "portico/models";
import type { Access } from "../access/access.ts";
import { newId } from "../ids.ts";
import { ask, textOf } from "./ask.ts";
import type { Listen } from "./progress.ts";
import type { Confirmations, Verdict } from "./confirmation.ts";
import type { LoopState, OpenCalls } from "./loop-state.ts";
import type { Edit } from "./sending.ts";
import { describeTools } from "./tool-descriptions.ts";
import { callTool, refusedRun, type ToolRun } from "./tools.ts";
import { clipError, type StepCosts, traceEnd, traceStart } from "./trace.ts";

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
  confirmations: Confirmations;
  costs: StepCosts;
  onTool(run: ToolRun): void;
  /** The trace has changed. */
  onTrace(): void;
  /** Milliseconds since 1970, by the store's clock. */
  now(): number;
  /** Returns the listener that gets the next paragraph of the answer. */
  onDelta(): Listen | undefined;
  /** Makes an editor of one answer's text, before listeners get it. */
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

/** The loop stops between two tool calls, and continues later with the same state. */
export interface LoopPause {
  /** When at the latest, in milliseconds of the store's clock; undefined: at once, when this is written. */
  until: number | undefined;
  /** Calls that wait since now. */
  newCalls: WaitingCall[];
}

/** The same call with the same result this often means that the model goes in a circle. */
const CIRCLE = 4;

/** Writes to `state` as it goes. A pause may be followed by another `runLoop` with the same state, in any process. */
export async function runLoop(
  options: LoopOptions,
  state: LoopState,
): Promise<LoopResult | LoopPause> {
  const offered = describeTools(options.tools);
  for (;;) {
    options.signal.throwIfAborted();
    const step = state.open ?? (await openNextStep(options, state, offered));
    if ("ended" in step) return step;
    const pause = await answerCalls(options, state, step);
    if (pause) return pause;
    const { images, hasRunConfirmed, isCircling, content } = step;
    // all results of a step come before anything else, or the next call is refused
    state.added.push(...images);
    state.open = undefined;
    if (isCircling) {
      const why = "the same tool was called again and again with the same result";
      const text = stopNotice(options, content, why);
      state.added.push({ role: "assistant", content: text });
      return resultOf(state, text, "tool_loop");
    }
    // what the owner has allowed once is never run twice, whatever becomes of the rest of the turn
    if (hasRunConfirmed) return { until: undefined, newCalls: [] };
  }
}

/** Asks the model. Returns the tool calls that it wants, or the result where it wants none or may call no more. */
async function openNextStep(
  options: LoopOptions,
  state: LoopState,
  offered: readonly ChatTool[],
): Promise<LoopResult | OpenCalls> {
  const { message, content } = await askModel(options, state, offered);
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return resultOf(state, content, "answered");
  const limit = limitReached(options, state);
  if (limit !== undefined) {
    const text = stopNotice(options, content, limit.why);
    replaceLast(state.added, text);
    return resultOf(state, text, limit.ended);
  }
  state.open = { calls: withIds(calls, state), content, next: 0, images: [], waiting: [] };
  return state.open;
}

async function askModel(
  options: LoopOptions,
  state: LoopState,
  offered: readonly ChatTool[],
): Promise<{ message: ChatMessage; content: string }> {
  const { request, signal } = options;
  const stepNumber = state.trace.length + 1;
  const requestId = newId("int");
  const startedAt = new Date(options.now()).toISOString();
  const step: TracedStep = {
    model: state.model,
    requestId,
    startedAt,
    isRunning: true,
    ms: 0,
    calls: [],
  };
  state.trace.push(step);
  options.onTrace();
  options.costs.follow(step);
  const began = performance.now();
  try {
    const answer = await ask(
      options.chat,
      {
        ...request,
        messages: [...request.messages, ...state.added],
        ...(offered.length > 0 ? { tools: [...offered] } : {}),
        // the last step is for an answer: a model that may still call tools would end with nothing said
        ...(offered.length > 0 && stepNumber >= options.maxSteps && stepNumber > 1
          ? { tool_choice: "none" }
          : {}),
      },
      { ...options.chatOptions, requestId, signal },
      options.onDelta(),
      options.edit?.(),
    );
    signal.throwIfAborted();
    const { model, usage, message } = answer;
    Object.assign(step, { model, usage: usage && tokensOf(usage) });
    state.model = model;
    addUsage(state.usage, usage);
    state.added.push(message);
    return { message, content: textOf(message) };
  } catch (error) {
    step.error = clipError(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    step.ms = Math.round(performance.now() - began);
    delete step.isRunning;
    options.onTrace();
  }
}

/** A pause where a call has to wait; undefined once all have results. */
async function answerCalls(
  options: LoopOptions,
  state: LoopState,
  open: OpenCalls,
): Promise<LoopPause | undefined> {
  for (; open.next < open.calls.length; open.next++) {
    const call = open.calls[open.next] as ToolCallPart;
    const newCalls = openWaiting(options, open);
    const verdict = await verdictOn(options, open);
    if (verdict.may === "wait") return { until: verdict.until, newCalls };
    const run = await runTraced(options, state, call, verdict);
    options.onTool(run);
    state.added.push(...run.messages.filter((message) => message.role === "tool"));
    open.images.push(...run.messages.filter((message) => message.role !== "tool"));
    if (verdict.decision === "confirmed") open.hasRunConfirmed = true;
    if (countRepeat(state, call, run) >= CIRCLE) open.isCircling = true;
  }
  return undefined;
}

/** Runs or refuses a call, and records its start and its end in the trace. */
async function runTraced(
  options: LoopOptions,
  state: LoopState,
  call: ToolCallPart,
  verdict: Exclude<Verdict, { may: "wait" }>,
): Promise<ToolRun> {
  const traced = traceStart(call, options.now());
  state.trace.at(-1)?.calls.push(traced);
  options.onTrace();
  const run =
    verdict.may === "run" ? await callTool(call, options) : refusedRun(call, verdict.reason);
  traceEnd(traced, run, verdict.decision);
  options.onTrace();
  return run;
}

/** Once a call has to wait, the owner is asked for all of its step together. Returns what was not asked before. */
function openWaiting({ confirmations, tools }: LoopOptions, open: OpenCalls): WaitingCall[] {
  const mustWait = (call: ToolCallPart | undefined) =>
    call !== undefined && tools.has(call.function?.name ?? "") && confirmations.needs(call);
  const isKnown = open.waiting.some(({ index }) => index === open.next);
  if (isKnown || !mustWait(open.calls[open.next])) return [];
  const newCalls = open.calls.flatMap((call, index) =>
    index >= open.next && mustWait(call) ? [confirmations.open(call, index)] : [],
  );
  open.waiting.push(...newCalls);
  return newCalls;
}

async function verdictOn({ confirmations }: LoopOptions, open: OpenCalls): Promise<Verdict> {
  const waiting = open.waiting.find(({ index }) => index === open.next);
  return waiting === undefined ? { may: "run" } : confirmations.verdictOn(waiting);
}

/** How often this call had this result, now included. */
function countRepeat(state: LoopState, call: ToolCallPart, run: ToolRun): number {
  const text = JSON.stringify([
    call.function?.name,
    call.function?.arguments,
    run.error ?? run.parts,
  ]);
  const digest = createHash("sha256").update(text).digest("base64url");
  const times = (state.repeats[digest] ?? 0) + 1;
  state.repeats[digest] = times;
  return times;
}

function withIds(calls: readonly ToolCallPart[], { trace }: LoopState): ToolCallPart[] {
  for (const [index, call] of calls.entries()) call.id ||= `call_${trace.length}_${index}`;
  return [...calls];
}

interface ReachedLimit {
  ended: LoopResult["ended"];
  why: string;
}

function limitReached(
  { maxSteps, maxTurnTokens }: LoopOptions,
  { trace, usage }: LoopState,
): ReachedLimit | undefined {
  if (trace.length >= maxSteps)
    return { ended: "max_steps", why: `the limit of ${maxSteps} steps was reached` };
  if (maxTurnTokens !== undefined && usage.total_tokens >= maxTurnTokens)
    return { ended: "max_tokens", why: `the limit of ${maxTurnTokens} tokens was reached` };
  return undefined;
}

/** The last answer, and behind it why it is the last. Listeners hear the notice. */
function stopNotice(options: LoopOptions, content: string, why: string): string {
  const notice = `[Stopped: ${why}.]`;
  options.onDelta()?.(notice);
  return content === "" ? notice : `${content}\n\n${notice}`;
}

function resultOf(state: LoopState, content: string, ended: LoopResult["ended"]): LoopResult {
  const { added: messages, model, usage, trace } = state;
  return { content, messages, model, steps: trace.length, usage, ended };
}

/** Tool calls without a result must not stay in the transcript: every provider refuses such a conversation. */
function replaceLast(messages: ChatMessage[], content: string): void {
  messages.pop();
  messages.push({ role: "assistant", content });
}

function tokensOf({ prompt_tokens, completion_tokens, total_tokens }: Usage) {
  return { prompt_tokens, completion_tokens, total_tokens };
}

function addUsage(sum: Usage, usage: Usage | undefined): void {
  sum.prompt_tokens += usage?.prompt_tokens ?? 0;
  sum.completion_tokens += usage?.completion_tokens ?? 0;
  sum.total_tokens += usage?.total_tokens ?? 0;
}
