/** Describes a turn for `portico turns show`. */
import type { FailedAttempt, TracedCall, TracedStep, TurnReport, WaitingCall } from "portico/agent";
import { shorten } from "portico/strings";

const ARGUMENTS_CHARS = 300;
const OUTCOME_CHARS = 200;
const RESULT_CHARS = 2_000;

export function describeTurn(turn: TurnReport): string {
  const sections = [
    describeHead(turn),
    ...turn.failedAttempts.map(describeFailedAttempt),
    describeSteps(turn.trace, turn.omittedSteps),
    describeWaitingCalls(turn),
    turn.error === undefined ? "" : `Error ${turn.error.code}: ${turn.error.message}`,
    turn.result ? `Result:\n${shorten(turn.result, RESULT_CHARS)}` : "",
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function describeHead(turn: TurnReport): string {
  const { usage = tokensOf(turn.trace) } = turn;
  const rows: [string, string | undefined][] = [
    ["turn", turn.turnId],
    ["state", describeState(turn)],
    ["session", turn.sessionId],
    ["principal", turn.principal],
    ["source", turn.source],
    ["model", turn.model],
    ["created", turn.createdAt],
    ["duration", durationOf(turn)],
    ["attempts", String(turn.attempts)],
    ["steps", String(turn.steps ?? turn.trace.length)],
    ["tokens", `${usage.prompt_tokens} in, ${usage.completion_tokens} out`],
    ["cost", turn.cost === undefined ? "unknown" : formatDollars(turn.cost)],
  ];
  return rows
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)} ${value}`]))
    .join("\n");
}

function describeState({ state, retryAt }: TurnReport): string {
  if (state === "waiting") return "waiting for your approval";
  return retryAt === undefined ? state : `${state}, next attempt ${retryAt}`;
}

/** Counts from the creation of the turn, so the time in the queue is included. */
function durationOf({ createdAt, finishedAt }: TurnReport): string | undefined {
  if (finishedAt === undefined) return undefined;
  return formatSeconds(Date.parse(finishedAt) - Date.parse(createdAt));
}

function tokensOf(trace: readonly TracedStep[]) {
  const sum = { prompt_tokens: 0, completion_tokens: 0 };
  for (const { usage } of trace) {
    sum.prompt_tokens += usage?.prompt_tokens ?? 0;
    sum.completion_tokens += usage?.completion_tokens ?? 0;
  }
  return sum;
}

function describeFailedAttempt({ attempt, error, trace, omittedSteps }: FailedAttempt): string {
  const head = `Attempt ${attempt} failed: ${error.message} (${error.code})`;
  const steps = describeSteps(trace, omittedSteps);
  return steps === "" ? head : `${head}\n${steps.replace(/^/gm, "  ")}`;
}

function describeSteps(trace: readonly TracedStep[], omittedSteps = 0): string {
  const steps = trace.map((step, index) => describeStep(step, omittedSteps + index + 1));
  if (omittedSteps > 0) steps.unshift(`Earlier steps that were not stored: ${omittedSteps}`);
  return steps.join("\n");
}

function describeStep(step: TracedStep, number: number): string {
  const facts = [formatTime(step)];
  if (step.usage)
    facts.push(`${step.usage.prompt_tokens} + ${step.usage.completion_tokens} tokens`);
  if (step.cost !== undefined) facts.push(formatDollars(step.cost));
  const head = `Step ${number}: ${step.model} ${describeOutcome(step)} (${facts.join(", ")})`;
  const { calls, omittedCalls = 0 } = step;
  const omitted = omittedCalls > 0 ? [`  Earlier calls that were not stored: ${omittedCalls}`] : [];
  return [head, ...omitted, ...calls.map(describeCall)].join("\n");
}

function describeOutcome({ isRunning, error, calls }: TracedStep): string {
  if (isRunning) return "is responding";
  return error === undefined ? describeCalls(calls) : `failed: ${error}`;
}

/** Formats the duration of a step or call; the time so far if it is still running. */
function formatTime({ isRunning, ms }: Pick<TracedStep, "isRunning" | "ms">): string {
  return isRunning ? `${formatSeconds(ms)} so far` : formatSeconds(ms);
}

function describeCalls({ length }: readonly TracedCall[]): string {
  if (length === 0) return "answered";
  return length === 1 ? "called one tool" : `called ${length} tools`;
}

function describeCall(call: TracedCall): string {
  const { tool, isRunning, ok, outcome = "", decision } = call;
  const head = `  ${tool} ${shorten(call.arguments, ARGUMENTS_CHARS)}`;
  if (isRunning) return `${head}\n    running, ${formatTime(call)}`;
  const facts = [ok ? "ok" : "failed", formatTime(call)];
  if (decision !== undefined) facts.unshift(decision);
  return `${head}\n    ${facts.join(", ")}: ${shorten(outcome.replace(/\s+/g, " "), OUTCOME_CHARS)}`;
}

function describeWaitingCalls({ turnId, waitingCalls = [] }: TurnReport): string {
  if (waitingCalls.length === 0) return "";
  const commands = `portico turns confirm ${turnId} [CALL], or portico turns deny ${turnId} [CALL] [--reason TEXT]`;
  return ["Waiting for your approval:", ...waitingCalls.map(describeWaitingCall), commands].join(
    "\n",
  );
}

/** Does not shorten the arguments, because the owner must see exactly what they approve. */
function describeWaitingCall(call: WaitingCall): string {
  const state = call.decision ?? `until ${call.until}`;
  return `  ${call.callId} ${call.tool} ${call.arguments} (${state})`;
}

function formatSeconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function formatDollars(cost: number): string {
  return `$${cost.toFixed(6).replace(/0{1,4}$/, "")}`;
}
