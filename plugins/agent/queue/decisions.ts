/** The owner's yes or no to tool calls that wait for it. */
import type { WaitingCall } from "portico/agent";
import { byShortId, type WorkItem } from "portico/store";
import { errors } from "../errors.ts";
import type { AgentContext } from "../context.ts";
import { decideCall, type Decision, decisionOn } from "../turns/confirmation.ts";
import { turnStatus, waitingCallsOf } from "./status.ts";
import type { TurnBody } from "../turns/turn-body.ts";

/** Ids of turns that wait, or did until lately. */
const NAMESPACE = "agent:waiting";
const KEEP_MS = 86_400_000;

/** Written with the pause, so that turns that wait can be listed without reading the whole queue. */
export function waitingMark(turnId: string, waitMs: number) {
  return { namespace: NAMESPACE, key: turnId, value: true, ttlMs: waitMs + KEEP_MS };
}

/** Oldest first. */
export async function waitingTurns(agent: AgentContext): Promise<WorkItem<TurnBody>[]> {
  const { kv, items } = agent.store();
  const waiting: WorkItem<TurnBody>[] = [];
  for (const id of await kv.list(NAMESPACE)) {
    const item = (await items.get(id)) as WorkItem<TurnBody> | undefined;
    if (item !== undefined && waitingCallsOf(item) !== undefined) waiting.push(item);
    else await kv.delete(NAMESPACE, id);
  }
  return waiting;
}

/** The calls of a turn that wait, with the decisions that the owner has already made. */
export async function withDecisions(
  agent: AgentContext,
  calls: readonly WaitingCall[],
): Promise<WaitingCall[]> {
  return Promise.all(
    calls.map(async (call) => {
      const answer = (await decisionOn(agent.store(), call.callId))?.answer;
      return answer === "confirmed" || answer === "denied" ? { ...call, decision: answer } : call;
    }),
  );
}

interface Decided {
  turnId: string;
  callId: string;
  tool: string;
  decision: "confirmed" | "denied";
  /** Calls of the turn that still wait. */
  waiting: number;
}

/**
 * Writes a decision down, and lets the turn go on once all of its calls are decided. `call`: its id, in short too; it may
 * be left out where only one waits. Throws `conflict` where nothing waits, or something else was decided.
 */
export async function decide(
  agent: AgentContext,
  item: WorkItem<TurnBody>,
  call: string | undefined,
  decision: Exclude<Decision, { answer: "expired" }>,
): Promise<Decided> {
  const calls = await withDecisions(agent, waitingCallsOf(item) ?? []);
  if (calls.length === 0) throw errors.nothingToDecide({ id: item.id });
  const { callId, tool } = selectCall(calls, call);
  const { answer } = await decideCall(agent.store(), callId, decision);
  if (answer !== decision.answer) throw errors.alreadyDecided({ callId, tool, answer });
  const waiting = calls.filter((each) => each.callId !== callId && each.decision === undefined);
  if (waiting.length === 0) await agent.store().items.wake(item.id);
  return { turnId: item.id, callId, tool, decision: answer, waiting: waiting.length };
}

function selectCall(calls: readonly WaitingCall[], wanted: string | undefined): WaitingCall {
  if (wanted !== undefined) {
    const call = byShortId(
      calls.map((each) => ({ ...each, id: each.callId })),
      wanted,
    );
    if (call) return call;
    throw errors.unknownCall({ callId: wanted, waiting: listOf(calls) });
  }
  const undecided = calls.filter(({ decision }) => decision === undefined);
  // all are decided: a caller that asks again receives the decision
  const [only, ...more] = undecided.length === 0 ? calls : undecided;
  if (only !== undefined && more.length === 0) return only;
  throw errors.severalCalls({ waiting: listOf(calls) });
}

function listOf(calls: readonly WaitingCall[]): string {
  return calls.map(({ callId, tool }) => `${callId} (${tool})`).join(", ");
}

const NOTICES = 5;

/** For `portico status`. */
export async function waitingNotices(agent: AgentContext): Promise<string[]> {
  const turns = await waitingTurns(agent);
  const notices = turns.slice(0, NOTICES).map((item) => {
    const { turnId, sessionId, waitingCalls = [] } = turnStatus(item);
    const tools = waitingCalls.map(({ tool }) => tool).join(", ");
    const until = waitingCalls[0]?.until;
    return `The turn ${turnId} of session ${sessionId} is waiting for your approval of ${tools} (until ${until}): portico turns show ${turnId}, then portico turns confirm or deny.`;
  });
  const more = turns.length - notices.length;
  return more > 0
    ? [...notices, `${more} more turns are waiting: portico turns list --state waiting`]
    : notices;
}
