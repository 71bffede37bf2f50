/**
 * The loop of a turn: asks the model, calls its tools and asks again, until it responds without calls or reaches a
 * limit.
 */
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
import { callTool, createRefusedRun, type ToolRun } from "./tools.ts";
import { clipError, type StepCosts, completeTraceEntry, createTraceEntry } from "./trace.ts";

export interface LoopOptions {
  chat: ChatService;
  /** The model, its parameters, and the messages with which the turn begins. */
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
  /** Called after each change of the trace. */
  onTrace(): void;
  /** Returns the time of the store's clock, in epoch ms. */
  now(): number;
  /** Returns the listener for the next paragraph of the response. */
  onDelta(): Listen | undefined;
  /** Creates an editor, which changes the text of one response before listeners get it. */
  edit: (() => Edit) | undefined;
}

export interface LoopResult {
  /** The text of the final response. */
  content: string;
  /** The messages that the turn added, including the response. */
  messages: ChatMessage[];
  model: string;
  steps: number;
  usage: Usage;
  /** `answered`, or the limit that ended the turn. */
  ended: "answered" | "max_steps" | "max_tokens" | "tool_loop";
}

/** The loop stops between two tool calls, and continues later with the same state. */
export interface LoopPause {
  /** The latest time to continue, in epoch ms of the store's clock; undefined: as soon as the state is stored. */
  until: number | undefined;
  /** The calls for which the owner has not been asked before. */
  newCalls: WaitingCall[];
}

/** If the same call has the same result this often, the model is in an endless loop. */
const MAX_REPEATS = 4;

/** Updates `state` continuously. After a pause, any process may call `runLoop` again with the same state. */
export async function runLoop(
  options: LoopOptions,
  state: LoopState,
): Promise<LoopResult | LoopPause> {
  const toolDescriptions = describeTools(options.tools);
  for (;;) {
    options.signal.throwIfAborted();
    const step = state.open ?? (await openNextStep(options, state, toolDescriptions));
    if ("ended" in step) return step;
    const pause = await answerCalls(options, state, step);
    if (pause) return pause;
    const { images, hasRunConfirmed, isCircling, content } = step;
    // Providers refuse a request in which anything precedes the remaining results of a step.
    state.added.push(...images);
    state.open = undefined;
    if (isCircling) {
      const why = "the same tool was called again and again with the same result";
      const text = sendStopNotice(options, content, why);
      state.added.push({ role: "assistant", content: text });
      return resultOf(state, text, "tool_loop");
    }
    // The pause stores the results now, so that a call that the owner confirmed never runs twice if the turn fails
    // later.
    if (hasRunConfirmed) return { until: undefined, newCalls: [] };
  }
}

/** Asks the model. Returns its tool calls, or the result if it makes none or a limit is reached. */
async function openNextStep(
  options: LoopOptions,
  state: LoopState,
  toolDescriptions: readonly ChatTool[],
): Promise<LoopResult | OpenCalls> {
  const { message, content } = await askModel(options, state, toolDescriptions);
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return resultOf(state, content, "answered");
  const limit = findReachedLimit(options, state);
  if (limit !== undefined) {
    const text = sendStopNotice(options, content, limit.why);
    replaceLast(state.added, text);
    return resultOf(state, text, limit.ended);
  }
  state.open = { calls: assignIds(calls, state), content, next: 0, images: [], waiting: [] };
  return state.open;
}

async function askModel(
  options: LoopOptions,
  state: LoopState,
  toolDescriptions: readonly ChatTool[],
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
  const startTime = performance.now();
  try {
    const response = await ask(
      options.chat,
      {
        ...request,
        messages: [...request.messages, ...state.added],
        ...(toolDescriptions.length > 0 ? { tools: [...toolDescriptions] } : {}),
        // The last step must produce a response, so the model may not call tools in it.
        ...(toolDescriptions.length > 0 && stepNumber >= options.maxSteps && stepNumber > 1
          ? { tool_choice: "none" }
          : {}),
      },
      { ...options.chatOptions, requestId, signal },
      options.onDelta(),
      options.edit?.(),
    );
    signal.throwIfAborted();
    const { model, usage, message } = response;
    Object.assign(step, { model, usage: usage && tokensOf(usage) });
    state.model = model;
    addUsage(state.usage, usage);
    state.added.push(message);
    return { message, content: textOf(message) };
  } catch (error) {
    step.error = clipError(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    step.ms = Math.round(performance.now() - startTime);
    delete step.isRunning;
    options.onTrace();
  }
}

/** Runs the calls of a step. Returns a pause if one of them has to wait; undefined once all have results. */
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
    if (countRepeat(state, call, run) >= MAX_REPEATS) open.isCircling = true;
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
  const tracedCall = createTraceEntry(call, options.now());
  state.trace.at(-1)?.calls.push(tracedCall);
  options.onTrace();
  const run =
    verdict.may === "run" ? await callTool(call, options) : createRefusedRun(call, verdict.reason);
  completeTraceEntry(tracedCall, run, verdict.decision);
  options.onTrace();
  return run;
}

/**
 * If the next call has to wait, opens all calls of the step that do, so that the owner sees them together. Returns the
 * new ones.
 */
function openWaiting({ confirmations, tools }: LoopOptions, open: OpenCalls): WaitingCall[] {
  const mustWait = (call: ToolCallPart | undefined) =>
    call !== undefined && tools.has(call.function?.name ?? "") && confirmations.needs(call);
  const isWaiting = open.waiting.some(({ index }) => index === open.next);
  if (isWaiting || !mustWait(open.calls[open.next])) return [];
  const newCalls = open.calls.flatMap((call, index) =>
    index >= open.next && mustWait(call) ? [confirmations.openCall(call, index)] : [],
  );
  open.waiting.push(...newCalls);
  return newCalls;
}

async function verdictOn({ confirmations }: LoopOptions, open: OpenCalls): Promise<Verdict> {
  const waitingCall = open.waiting.find(({ index }) => index === open.next);
  return waitingCall === undefined ? { may: "run" } : confirmations.verdictOn(waitingCall);
}

/** Counts how often this call has had this result, including now. */
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

function assignIds(calls: readonly ToolCallPart[], { trace }: LoopState): ToolCallPart[] {
  for (const [index, call] of calls.entries()) call.id ||= `call_${trace.length}_${index}`;
  return [...calls];
}

interface ReachedLimit {
  ended: LoopResult["ended"];
  why: string;
}

function findReachedLimit(
  { maxSteps, maxTurnTokens }: LoopOptions,
  { trace, usage }: LoopState,
): ReachedLimit | undefined {
  if (trace.length >= maxSteps)
    return { ended: "max_steps", why: `the limit of ${maxSteps} steps was reached` };
  if (maxTurnTokens !== undefined && usage.total_tokens >= maxTurnTokens)
    return { ended: "max_tokens", why: `the limit of ${maxTurnTokens} tokens was reached` };
  return undefined;
}

/** Appends the reason for the end of the turn to the last response, and sends it to listeners. */
function sendStopNotice(options: LoopOptions, content: string, why: string): string {
  const notice = `[Stopped: ${why}.]`;
  options.onDelta()?.(notice);
  return content === "" ? notice : `${content}\n\n${notice}`;
}

function resultOf(state: LoopState, content: string, ended: LoopResult["ended"]): LoopResult {
  const { added: messages, model, usage, trace } = state;
  return { content, messages, model, steps: trace.length, usage, ended };
}

/** Replaces a message whose tool calls have no results, because every provider refuses such a conversation. */
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
