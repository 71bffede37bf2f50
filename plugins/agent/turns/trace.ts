/** What a turn did, step by step, in a form that stays small: it is kept with the turn. */
import type { TracedCall, TracedStep } from "portico/agent";
import type { ToolCallPart } from "portico/provider";
import { clip } from "portico/strings";
import type { ToolRun } from "./tools.ts";

const ARGUMENTS_CHARS = 2_000;
const OUTCOME_CHARS = 500;

export function traceCall(
  call: ToolCallPart,
  run: ToolRun,
  decision: TracedCall["decision"],
): TracedCall {
  return {
    tool: run.name,
    arguments: clip(call.function?.arguments ?? "", ARGUMENTS_CHARS),
    ok: run.ok,
    ms: Math.round(run.ms),
    outcome: clip(run.error ?? textIn(run), OUTCOME_CHARS),
    ...(decision === undefined ? {} : { decision }),
  };
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
