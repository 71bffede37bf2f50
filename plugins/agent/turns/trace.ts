/** What a turn did, step by step, in a form that stays small: it is kept with the turn. */
import type { TracedCall, TracedStep } from "portico/agent";
import type { ToolCallPart } from "portico/provider";
import { clip } from "portico/strings";
import type { ToolRun } from "./tools.ts";

const ARGUMENTS_CHARS = 2_000;
const OUTCOME_CHARS = 500;

/** About how many characters the steps of a running turn take in the store, and those of an attempt that failed. */
export const RUNNING_CHARS = 200_000;
export const FAILED_CHARS = 20_000;
/** About what a step and a call take beside their texts. */
const OTHER_CHARS = 200;

/** A call that runs since `now`, in milliseconds since 1970. */
export function traceStart(call: ToolCallPart, now: number): TracedCall {
  return {
    tool: call.function?.name ?? "",
    arguments: clip(call.function?.arguments ?? "", ARGUMENTS_CHARS),
    startedAt: new Date(now).toISOString(),
    isRunning: true,
    ms: 0,
  };
}

/** Writes into a call how it ended. */
export function traceEnd(traced: TracedCall, run: ToolRun, decision: TracedCall["decision"]): void {
  delete traced.isRunning;
  Object.assign(traced, {
    ok: run.ok,
    ms: Math.round(run.ms),
    outcome: clip(run.error ?? textIn(run), OUTCOME_CHARS),
    ...(decision === undefined ? {} : { decision }),
  });
}

/** The newest steps and calls within about that many characters, and how many earlier steps there were. */
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

/** A copy of what an attempt did whose end cut off what still ran. */
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

/** A copy in which what still runs has the time that it has taken until `now`. */
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
