/**
 * Calls that wait for the owner's yes or no (`agents.defaults.tools.confirm`). A decision is a row of the store under the
 * call's own random id, written once: by the owner, or by the turn when the time is over.
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
/** A decision outlives its call's time: the gateway may have been off meanwhile. */
const KEEP_MS = 30 * 86_400_000;

/**
 * Whether a call has to wait. A pattern stands for a tool (`browser`) or for one of its actions (`files.write`); a call
 * whose action cannot be read counts as each of them.
 */
function needsConfirmation(patterns: readonly string[], call: ToolCallPart): boolean {
  const name = call.function?.name ?? "";
  const action = actionOf(call);
  if (action === undefined) return patternsFor(patterns, name).length > 0;
  return patterns.some(
    (pattern) => fitsPattern(pattern, name) || fitsPattern(pattern, `${name}.${action}`),
  );
}

/** Those of the patterns that make some calls of a tool wait, if not all. */
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

export async function decisionOn(store: Store, callId: string): Promise<Decision | undefined> {
  return store.kv.get<Decision>(NAMESPACE, callId);
}

/** Returns the decision that counts: an earlier one, where there is one. */
export async function decideCall(
  store: Store,
  callId: string,
  decision: Decision,
): Promise<Decision> {
  const isFirst = await store.kv.add(NAMESPACE, callId, decision, { ttlMs: KEEP_MS });
  return isFirst ? decision : ((await decisionOn(store, callId)) ?? decision);
}

/** Judges the calls of one turn. */
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

  /** `index`: of the call among those of its step. */
  open(call: ToolCallPart, index: number): WaitingCall {
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

  /** A confirmed call may run once: where it may have run already, it is refused. */
  async verdictOn({ callId, until }: WaitingCall): Promise<Verdict> {
    const store = this.#store;
    const end = Date.parse(until);
    let decision = await decisionOn(store, callId);
    if (decision === undefined) {
      if (store.now() < end) return { may: "wait", until: end };
      decision = await decideCall(store, callId, { answer: "expired" });
    }
    if (decision.answer === "confirmed") return this.#begin(callId);
    return { may: "refuse", decision: decision.answer, reason: reasonOf(decision) };
  }

  async #begin(callId: string): Promise<Verdict> {
    const begun = { ttlMs: KEEP_MS };
    if (await this.#store.kv.add(NAMESPACE, `${callId}:begun`, true, begun))
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
