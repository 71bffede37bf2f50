/** What a turn did, step by step, in a form that stays small: it is kept with the turn. */
import type { TracedCall, TracedStep } from "portico/agent";
import type { ToolCallPart } from "portico/provider";
import { clip, shorten } from "portico/strings";
import type { ToolRun } from "./tools.ts";

/** A model may call a tool by any name. */
const NAME_CHARS = 200;
const ARGUMENTS_CHARS = 2_000;
const OUTCOME_CHARS = 500;

/** About how many characters the steps of a running turn may take in the store, and those of an attempt that failed. */
export const RUNNING_CHARS = 200_000;
export const FAILED_CHARS = 20_000;
/** About how many characters a step or a call takes in addition to its texts. */
const OTHER_CHARS = 200;

/** What all steps of an attempt add up to. JSON-ready. */
export interface TraceSums {
  /** The model of the newest step; absent if there is no step. */
  model?: string;
  steps: number;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** US dollars; absent if no price is known. */
  cost?: number;
}

/** The entry of a call that started at `now`, in milliseconds since 1970. */
export function traceStart(call: ToolCallPart, now: number): TracedCall {
  return {
    tool: shorten(call.function?.name ?? "", NAME_CHARS),
    arguments: clip(call.function?.arguments ?? "", ARGUMENTS_CHARS),
    startedAt: new Date(now).toISOString(),
    isRunning: true,
    ms: 0,
  };
}

/** Writes the end of a call into its entry. */
export function traceEnd(traced: TracedCall, run: ToolRun, decision: TracedCall["decision"]): void {
  delete traced.isRunning;
  Object.assign(traced, {
    ok: run.ok,
    ms: Math.round(run.ms),
    outcome: clip(run.error ?? textIn(run), OUTCOME_CHARS),
    ...(decision === undefined ? {} : { decision }),
  });
}

/** An error's message, cut like the outcome of a call. */
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

/** The newest steps and calls within about `mostChars` characters, and the number of the earlier steps. */
export function boundTrace(
  trace: readonly TracedStep[],
  mostChars: number,
): { trace: TracedStep[]; omittedSteps: number } {
  let left = mostChars;
  const steps: TracedStep[] = [];
  for (const step of trace.toReversed()) {
    left -= OTHER_CHARS + step.model.length + (step.error?.length ?? 0);
    if (left < 0 && steps.length > 0) break;
    const calls: TracedCall[] = [];
    for (const call of step.calls.toReversed()) {
      left -= OTHER_CHARS + call.arguments.length + (call.outcome?.length ?? 0);
      if (left < 0) break;
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

/** A copy of the trace of an attempt that has ended: steps and calls that still ran get an error. */
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

/** A copy in which `ms` of running steps and calls is the time from their start to `now`. */
export function timedTrace(trace: readonly TracedStep[], now: number): TracedStep[] {
  const timed = <T extends TracedStep | TracedCall>(part: T): T =>
    part.isRunning === true && part.startedAt !== undefined
      ? { ...part, ms: Math.max(0, now - Date.parse(part.startedAt)) }
      : part;
  return trace.map((step) => ({ ...timed(step), calls: step.calls.map(timed) }));
}

/** The words of a result, without the marks of its fence. */
function textIn({ parts }: ToolRun): string {
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/** Fills in what a step's request has cost, once the chat plugin knows. */
export class StepCosts {
  readonly #steps = new Map<string, TracedStep>();

  follow(step: TracedStep): void {
    this.#steps.set(step.requestId, step);
  }

  forget(steps: readonly TracedStep[]): void {
    for (const { requestId } of steps) this.#steps.delete(requestId);
  }

  finished({ requestId, cost }: { requestId: string; cost?: number | undefined }): void {
    const step = this.#steps.get(requestId);
    if (step !== undefined && cost !== undefined) step.cost = cost;
  }
}
