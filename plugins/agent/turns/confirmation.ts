/**
 * Calls that wait for the owner's approval (`agents.defaults.tools.confirm`). A decision is a row of the store under the
 * random id of the call. Either the owner writes it, or the turn does when the time is over; the first write counts.
 */
import type { WaitingCall } from "portico/agent";
import type { ToolCallPart } from "portico/provider";
import { fitsPattern } from "portico/strings";
import type { Store } from "portico/store";
import { newId } from "../ids.ts";

export type Decision =
  | { answer: "confirmed" }
  | { answer: "denied"; reason?: string | undefined }
  | { answer: "expired" };

export type Verdict =
  | { may: "run"; decision?: "confirmed" }
  | { may: "refuse"; decision: "denied" | "expired" | "interrupted"; reason: string }
  | { may: "wait"; until: number };

const NAMESPACE = "agent:confirm";
/** A decision is kept longer than its call may wait, because the gateway may have been stopped in the meantime. */
const KEEP_MS = 30 * 86_400_000;

/**
 * Returns whether a call has to wait. A pattern stands for a tool (`browser`) or for one of its actions (`files.write`). A
 * call whose action cannot be read matches the patterns of all actions.
 */
function needsConfirmation(patterns: readonly string[], call: ToolCallPart): boolean {
  const name = call.function?.name ?? "";
  const action = actionOf(call);
  if (action === undefined) return patternsFor(patterns, name).length > 0;
  return patterns.some(
    (pattern) => fitsPattern(pattern, name) || fitsPattern(pattern, `${name}.${action}`),
  );
}

/** Selects the patterns that make all or some calls of a tool wait. */
export function patternsFor(patterns: readonly string[], tool: string): string[] {
  return patterns.filter((pattern) => {
    const dot = pattern.lastIndexOf(".");
    return fitsPattern(pattern, tool) || (dot > 0 && fitsPattern(pattern.slice(0, dot), tool));
  });
}

function actionOf(call: ToolCallPart): string | undefined {
  try {
    const { action } = Object(JSON.parse(call.function?.arguments || "{}")) as { action?: unknown };
    return typeof action === "string" ? action : undefined;
  } catch {
    return undefined;
  }
}

export async function findDecision(store: Store, callId: string): Promise<Decision | undefined> {
  return store.kv.get<Decision>(NAMESPACE, callId);
}

/** Stores a decision unless one exists. Returns the decision that counts, which is the earlier one. */
export async function decideCall(
  store: Store,
  callId: string,
  decision: Decision,
): Promise<Decision> {
  const isFirst = await store.kv.add(NAMESPACE, callId, decision, { ttlMs: KEEP_MS });
  return isFirst ? decision : ((await findDecision(store, callId)) ?? decision);
}

/** Decides for the calls of one turn whether they run, wait or are refused. */
export class Confirmations {
  readonly #store: Store;
  readonly #patterns: readonly string[];
  readonly #timeoutMs: number;

  constructor(store: Store, { confirm, confirmTimeoutMs }: ConfirmationSettings) {
    this.#store = store;
    this.#patterns = confirm;
    this.#timeoutMs = confirmTimeoutMs;
  }

  needs(call: ToolCallPart): boolean {
    return needsConfirmation(this.#patterns, call);
  }

  /** `index` is the position of the call in its step. */
  openCall(call: ToolCallPart, index: number): WaitingCall {
    const now = this.#store.now();
    return {
      callId: newId("call"),
      index,
      tool: call.function?.name ?? "",
      arguments: call.function?.arguments ?? "",
      askedAt: new Date(now).toISOString(),
      until: new Date(now + this.#timeoutMs).toISOString(),
    };
  }

  /** A confirmed call may run only once, so it is refused if it may have run already. */
  async verdictOn({ callId, until }: WaitingCall): Promise<Verdict> {
    const store = this.#store;
    const end = Date.parse(until);
    let decision = await findDecision(store, callId);
    if (decision === undefined) {
      if (store.now() < end) return { may: "wait", until: end };
      decision = await decideCall(store, callId, { answer: "expired" });
    }
    if (decision.answer === "confirmed") return this.#begin(callId);
    return { may: "refuse", decision: decision.answer, reason: reasonOf(decision) };
  }

  async #begin(callId: string): Promise<Verdict> {
    const options = { ttlMs: KEEP_MS };
    if (await this.#store.kv.add(NAMESPACE, `${callId}:begun`, true, options))
      return { may: "run", decision: "confirmed" };
    const reason =
      "the owner allowed this call, but the gateway stopped while it was running: whether it took effect is unknown. It was not run again; check before you repeat it";
    return { may: "refuse", decision: "interrupted", reason };
  }
}

export interface ConfirmationSettings {
  confirm: readonly string[];
  confirmTimeoutMs: number;
}

function reasonOf(decision: Exclude<Decision, { answer: "confirmed" }>): string {
  if (decision.answer === "expired")
    return "nobody allowed this call before its time limit, so it did not run";
  const why = decision.reason === undefined ? "" : `: ${decision.reason}`;
  return `the owner did not allow this call, and it did not run${why}`;
}
