/** Converts turns and wakes into the form of responses: JSON-ready, times in ISO 8601. */
import type {
  FailedAttempt,
  TracedStep,
  TurnReport,
  TurnStatus,
  WaitingCall,
  WakeStatus,
} from "portico/agent";
import type { Usage } from "portico/provider";
import type { WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { principalOfTurn } from "./principal-of.ts";
import { listFailedAttempts, readSteps, type StepRecord } from "../turns/step-records.ts";
import { closeTrace, sumTrace, addRunningTimes } from "../turns/trace.ts";
import type { TurnBody } from "../turns/turn-body.ts";

interface TurnResult {
  text?: string;
  model?: string;
  steps?: number;
  usage?: Usage;
  trace?: TracedStep[];
  failedAttempts?: FailedAttempt[];
}

export function toTurnStatus(item: WorkItem<TurnBody>): TurnStatus {
  const { text, model, steps, usage } = (item.result as TurnResult | undefined) ?? {};
  const waitingCalls = waitingCallsOf(item);
  return {
    turnId: item.id,
    sessionId: item.lane,
    state: waitingCalls === undefined ? stateOf(item) : "waiting",
    source: item.body.source,
    principal: principalOfTurn(item),
    attempts: item.attempts,
    ...timesOf(item),
    retryAt: waitingCalls === undefined ? iso(item.retryAt) : undefined,
    result: text,
    model,
    steps,
    usage: usage && {
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
    },
    error: errorOf(item),
    waitingCalls,
  };
}

/** Returns the calls that wait for the owner; undefined if the turn does not wait. */
export function waitingCallsOf({ state, body }: WorkItem<TurnBody>): WaitingCall[] | undefined {
  const open = body.paused?.loop.open;
  if (state !== "queued" || open === undefined) return undefined;
  const waitingCalls = open.waiting.filter(({ index }) => index >= open.next);
  return waitingCalls.length === 0 ? undefined : waitingCalls;
}

/**
 * Returns the state of a turn with its steps. The steps of a turn that has not ended come from its record in the store.
 */
export async function reportTurn(
  { store }: Pick<AgentContext, "store">,
  item: WorkItem<TurnBody>,
): Promise<TurnReport> {
  const status = toTurnStatus(item);
  const result = (item.result as TurnResult | undefined) ?? {};
  if (hasEnded(status) && result.trace !== undefined) {
    const { trace, failedAttempts = [] } = result;
    return { ...status, trace, failedAttempts, cost: sumTrace(trace).cost };
  }
  const record = await readSteps(store(), item.id);
  const { trace, omittedSteps, sums } = stepsOf(item, record, store().now());
  return {
    ...status,
    ...(sums.steps > 0 && sums),
    trace,
    ...(omittedSteps > 0 && { omittedSteps }),
    failedAttempts: listFailedAttempts(record, item.attempts),
  };
}

/** Returns the state of a turn. If it is running, model, steps and tokens are those so far. */
export async function reportProgress(
  { store }: Pick<AgentContext, "store">,
  item: WorkItem<TurnBody>,
): Promise<TurnStatus> {
  const status = toTurnStatus(item);
  if (hasEnded(status)) return status;
  const isRunning = status.state === "running";
  const record = isRunning ? await readSteps(store(), item.id) : undefined;
  const { sums } = stepsOf(item, record, store().now());
  const { cost: _cost, ...amounts } = sums;
  return sums.steps > 0 ? { ...status, ...amounts } : status;
}

/**
 * Returns the steps of the latest attempt. If it has recorded none yet, returns those until the last pause of the turn.
 */
function stepsOf(
  { attempts, body, state }: WorkItem<TurnBody>,
  record: StepRecord | undefined,
  now: number,
): Pick<StepRecord, "trace" | "omittedSteps" | "sums"> {
  const isLatest = record?.attempt === attempts && record.trace.length > 0;
  if (!isLatest) {
    const trace = body.paused?.loop.trace ?? [];
    return { trace, omittedSteps: 0, sums: sumTrace(trace) };
  }
  const trace = state === "running" ? addRunningTimes(record.trace, now) : closeTrace(record.trace);
  return { trace, omittedSteps: record.omittedSteps, sums: record.sums };
}

/** Returns whether the turn has ended for good, unless the owner replays it. */
export function hasEnded({ state }: Pick<TurnStatus, "state">): boolean {
  return state === "done" || state === "dead" || state === "cancelled";
}

/** `turn` is the turn that has the event in its prompt. */
export function toWakeStatus(item: WorkItem, turn: TurnStatus | undefined): WakeStatus {
  return {
    eventId: item.id,
    state: stateOf(item),
    attempts: item.attempts,
    ...timesOf(item),
    turnId: item.drainedBy,
    result: turn?.result,
    error: errorOf(item),
  };
}

function stateOf({ state }: WorkItem): WakeStatus["state"] {
  return state === "held" ? "running" : state;
}

function errorOf({ state, error }: WorkItem): TurnStatus["error"] {
  return state === "done" ? undefined : error;
}

function timesOf({ createdAt, startedAt, finishedAt }: WorkItem) {
  return { createdAt: iso(createdAt), startedAt: iso(startedAt), finishedAt: iso(finishedAt) };
}

export function iso(ms: number): string;
export function iso(ms: number | undefined): string | undefined;
export function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

const MAX_DEAD_SHOWN = 5;

/** Returns notices about dead turns for `portico status`. */
export async function deadTurnNotices(agent: AgentContext): Promise<string[]> {
  const queue = agent.store().items;
  if ((await queue.count("turn", "dead")) === 0) return [];
  const items = await queue.list({ kind: "turn", state: "dead", limit: MAX_DEAD_SHOWN + 1 });
  const lines = items.slice(0, MAX_DEAD_SHOWN).map((item) => {
    const { turnId, sessionId, error } = toTurnStatus(item as WorkItem<TurnBody>);
    return `The turn ${turnId} of session ${sessionId} is dead: ${(error?.message ?? "no reason was given").replace(/\.+$/, "")}. Try it again: portico turns replay ${turnId}`;
  });
  return items.length > MAX_DEAD_SHOWN
    ? [...lines, "More turns are dead: portico turns list --state dead"]
    : lines;
}
