/** The owner's decisions on tool calls that wait for approval. */
import type { WaitingCall } from "portico/agent";
import { byShortId, type WorkItem } from "portico/store";
import { errors } from "../errors.ts";
import type { AgentContext } from "../context.ts";
import { decideCall, type Decision, findDecision } from "../turns/confirmation.ts";
import { toTurnStatus, waitingCallsOf } from "./status.ts";
import type { TurnBody } from "../turns/turn-body.ts";

/** The namespace with the ids of turns that wait, or did so recently. */
const NAMESPACE = "agent:waiting";
const KEEP_MS = 86_400_000;

/**
 * The store writes this record together with the pause, so that waiting turns can be listed without reading the whole
 * queue.
 */
export function createWaitingMark(turnId: string, waitMs: number) {
  return { namespace: NAMESPACE, key: turnId, value: true, ttlMs: waitMs + KEEP_MS };
}

/** Returns the turns that wait for the owner, oldest first. */
export async function listWaitingTurns(agent: AgentContext): Promise<WorkItem<TurnBody>[]> {
  const { kv, items } = agent.store();
  const waitingItems: WorkItem<TurnBody>[] = [];
  for (const id of await kv.list(NAMESPACE)) {
    const item = (await items.get(id)) as WorkItem<TurnBody> | undefined;
    if (item !== undefined && waitingCallsOf(item) !== undefined) waitingItems.push(item);
    else await kv.delete(NAMESPACE, id);
  }
  return waitingItems;
}

/** Adds the decisions that the owner has already made to the waiting calls of a turn. */
export async function addDecisions(
  agent: AgentContext,
  calls: readonly WaitingCall[],
): Promise<WaitingCall[]> {
  return Promise.all(
    calls.map(async (call) => {
      const answer = (await findDecision(agent.store(), call.callId))?.answer;
      return answer === "confirmed" || answer === "denied" ? { ...call, decision: answer } : call;
    }),
  );
}

interface DecisionResult {
  turnId: string;
  callId: string;
  tool: string;
  decision: "confirmed" | "denied";
  /** The number of calls of the turn that still wait. */
  waiting: number;
}

/**
 * Stores a decision, and resumes the turn once all of its calls are decided. `call` is the id of the call or a part of it,
 * and optional if only one call waits. Throws `conflict` if no call waits, or if a different decision exists.
 */
export async function decide(
  agent: AgentContext,
  item: WorkItem<TurnBody>,
  call: string | undefined,
  decision: Exclude<Decision, { answer: "expired" }>,
): Promise<DecisionResult> {
  const calls = await addDecisions(agent, waitingCallsOf(item) ?? []);
  if (calls.length === 0) throw errors.nothingToDecide({ id: item.id });
  const { callId, tool } = selectCall(calls, call);
  const { answer } = await decideCall(agent.store(), callId, decision);
  if (answer !== decision.answer) throw errors.alreadyDecided({ callId, tool, answer });
  const remainingCalls = calls.filter(
    (each) => each.callId !== callId && each.decision === undefined,
  );
  if (remainingCalls.length === 0) await agent.store().items.wake(item.id);
  return { turnId: item.id, callId, tool, decision: answer, waiting: remainingCalls.length };
}

function selectCall(calls: readonly WaitingCall[], id: string | undefined): WaitingCall {
  if (id !== undefined) {
    const call = byShortId(
      calls.map((each) => ({ ...each, id: each.callId })),
      id,
    );
    if (call) return call;
    throw errors.unknownCall({ callId: id, waiting: listOf(calls) });
  }
  const undecided = calls.filter(({ decision }) => decision === undefined);
  // If all calls are decided, a caller that repeats its request receives the decision.
  const [onlyCall, ...otherCalls] = undecided.length === 0 ? calls : undecided;
  if (onlyCall !== undefined && otherCalls.length === 0) return onlyCall;
  throw errors.severalCalls({ waiting: listOf(calls) });
}

function listOf(calls: readonly WaitingCall[]): string {
  return calls.map(({ callId, tool }) => `${callId} (${tool})`).join(", ");
}

const NOTICES = 5;

/** Returns notices about waiting calls for `portico status`. */
export async function waitingNotices(agent: AgentContext): Promise<string[]> {
  const turns = await listWaitingTurns(agent);
  const notices = turns.slice(0, NOTICES).map((item) => {
    const { turnId, sessionId, waitingCalls = [] } = toTurnStatus(item);
    const tools = waitingCalls.map(({ tool }) => tool).join(", ");
    const until = waitingCalls[0]?.until;
    return `The turn ${turnId} of session ${sessionId} is waiting for your approval of ${tools} (until ${until}): portico turns show ${turnId}, then portico turns confirm or deny.`;
  });
  const moreCount = turns.length - notices.length;
  return moreCount > 0
    ? [...notices, `${moreCount} more turns are waiting: portico turns list --state waiting`]
    : notices;
}
