/** How turns and wakes stand, as callers are told: JSON-ready, times in ISO 8601. */
import type { TurnStatus, WakeStatus } from "portico/agent";
import type { Usage } from "portico/chat";
import type { WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { principalOfTurn } from "./principal-of.ts";
import type { TurnBody } from "./turn-body.ts";

interface TurnResult {
  text?: string;
  model?: string;
  steps?: number;
  usage?: Usage;
}

export function turnStatus(item: WorkItem<TurnBody>): TurnStatus {
  const { text, model, steps, usage } = (item.result as TurnResult | undefined) ?? {};
  return {
    turnId: item.id,
    sessionId: item.lane,
    state: stateOf(item),
    source: item.body.source,
    principal: principalOfTurn(item),
    attempts: item.attempts,
    ...timesOf(item),
    retryAt: iso(item.retryAt),
    result: text,
    model,
    steps,
    usage: usage && {
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
    },
    error: errorOf(item),
  };
}

/** `taken`: the turn that has the event in its prompt. */
export function wakeStatus(item: WorkItem, taken: TurnStatus | undefined): WakeStatus {
  return {
    eventId: item.id,
    state: stateOf(item),
    attempts: item.attempts,
    ...timesOf(item),
    turnId: item.drainedBy,
    result: taken?.result,
    error: errorOf(item),
  };
}

function stateOf({ state }: WorkItem): TurnStatus["state"] {
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

const DEAD_SHOWN = 5;

/** For `portico status`: what is not tried again. */
export async function deadTurns(agent: AgentContext): Promise<string[]> {
  const queue = agent.store().items;
  if ((await queue.count("turn", "dead")) === 0) return [];
  const items = await queue.list({ kind: "turn", state: "dead", limit: DEAD_SHOWN + 1 });
  const dead = items.slice(0, DEAD_SHOWN).map((item) => {
    const { turnId, sessionId, error } = turnStatus(item as WorkItem<TurnBody>);
    return `The turn ${turnId} of session ${sessionId} is dead: ${(error?.message ?? "no reason was given").replace(/\.+$/, "")}. Try it again: portico turns replay ${turnId}`;
  });
  return items.length > DEAD_SHOWN
    ? [...dead, "More turns are dead: portico turns list --state dead"]
    : dead;
}
