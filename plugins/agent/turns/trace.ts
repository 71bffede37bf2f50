/** The trace of a turn: its steps and calls, in a form of limited size, because it is stored with the turn. */
import type { TracedCall, TracedStep } from "portico/agent";
import type { ToolCallPart } from "portico/provider";
import { clip, shorten } from "portico/strings";
import type { ToolRun } from "./tools.ts";

/** The length of a name is limited, because a model may call a tool by any name. */
const NAME_CHARS = 200;
const ARGUMENTS_CHARS = 2_000;
const OUTCOME_CHARS = 500;

/**
 * The approximate number of characters for the steps of a running turn in the store, and for those of a failed attempt.
 */
export const RUNNING_CHARS = 200_000;
export const FAILED_CHARS = 20_000;
/** The approximate number of characters that a step or a call takes in addition to its texts. */
const OTHER_CHARS = 200;

/** The sums over all steps of an attempt. JSON-ready. */
export interface TraceSums {
  /** The model of the newest step; absent if there is no step. */
  model?: string;
  steps: number;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** US dollars; absent if no price is known. */
  cost?: number;
}

/** Creates the entry of a call that started at `now`, in epoch ms. */
export function createTraceEntry(call: ToolCallPart, now: number): TracedCall {
  return {
    tool: shorten(call.function?.name ?? "", NAME_CHARS),
    arguments: clip(call.function?.arguments ?? "", ARGUMENTS_CHARS),
    startedAt: new Date(now).toISOString(),
    isRunning: true,
    ms: 0,
  };
}

/** Writes the end of a call into its entry. */
export function completeTraceEntry(
  entry: TracedCall,
  run: ToolRun,
  decision: TracedCall["decision"],
): void {
  delete entry.isRunning;
  Object.assign(entry, {
    ok: run.ok,
    ms: Math.round(run.ms),
    outcome: clip(run.error ?? textIn(run), OUTCOME_CHARS),
    ...(decision === undefined ? {} : { decision }),
  });
}

/** Shortens an error's message like the outcome of a call. */
export function clipError(message: string): string {
  return clip(message, OUTCOME_CHARS);
}

export function sumTrace(trace: readonly TracedStep[]): TraceSums {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  for (const step of trace) {
    usage.prompt_tokens += step.usage?.prompt_tokens ?? 0;
    usage.completion_tokens += step.usage?.completion_tokens ?? 0;
    usage.total_tokens += step.usage?.total_tokens ?? 0;
  }
  const model = trace.at(-1)?.model;
  const costs = trace.flatMap(({ cost }) => cost ?? []);
  return {
    ...(model !== undefined && { model }),
    steps: trace.length,
    usage,
    ...(costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
  };
}

/** Returns the newest steps and calls within about `mostChars` characters, and the number of omitted steps. */
export function boundTrace(
  trace: readonly TracedStep[],
  mostChars: number,
): { trace: TracedStep[]; omittedSteps: number } {
  let remainingChars = mostChars;
  const steps: TracedStep[] = [];
  for (const step of trace.toReversed()) {
    remainingChars -= OTHER_CHARS + step.model.length + (step.error?.length ?? 0);
    if (remainingChars < 0 && steps.length > 0) break;
    const calls: TracedCall[] = [];
    for (const call of step.calls.toReversed()) {
      remainingChars -= OTHER_CHARS + call.arguments.length + (call.outcome?.length ?? 0);
      if (remainingChars < 0) break;
      calls.push(call);
    }
    const omittedCalls = step.calls.length - calls.length;
    steps.push({
      ...step,
      calls: calls.reverse(),
      ...(omittedCalls > 0 ? { omittedCalls } : {}),
    });
  }
  return { trace: steps.reverse(), omittedSteps: trace.length - steps.length };
}

/** Copies the trace of an attempt that has ended. Steps and calls that were still running get an error. */
export function closeTrace(trace: readonly TracedStep[]): TracedStep[] {
  return trace.map(({ isRunning, ...step }) => ({
    ...step,
    ...(isRunning === true
      ? { error: step.error ?? "The attempt ended before the response." }
      : {}),
    calls: step.calls.map(closeCall),
  }));
}

function closeCall({ isRunning, ...call }: TracedCall): TracedCall {
  if (isRunning !== true) return call;
  return { ...call, ok: false, outcome: "The attempt ended before the call did." };
}

/** Copies the trace, with `ms` of running steps and calls set to the time from their start to `now`. */
export function addRunningTimes(trace: readonly TracedStep[], now: number): TracedStep[] {
  const withTime = <T extends TracedStep | TracedCall>(part: T): T =>
    part.isRunning === true && part.startedAt !== undefined
      ? { ...part, ms: Math.max(0, now - Date.parse(part.startedAt)) }
      : part;
  return trace.map((step) => ({ ...withTime(step), calls: step.calls.map(withTime) }));
}

/** Returns the text of a result, without fences. */
function textIn({ parts }: ToolRun): string {
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/** Fills in the cost of a step's request once the chat plugin reports it. */
export class StepCosts {
  readonly #steps = new Map<string, TracedStep>();

  follow(step: TracedStep): void {
    this.#steps.set(step.requestId, step);
  }

  forget(steps: readonly TracedStep[]): void {
    for (const { requestId } of steps) this.#steps.delete(requestId);
  }

  recordCost({ requestId, cost }: { requestId: string; cost?: number | undefined }): void {
    const step = this.#steps.get(requestId);
    if (step !== undefined && cost !== undefined) step.cost = cost;
  }
}
