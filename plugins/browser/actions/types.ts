/** What the kinds of `/act` are made of. */
import type { TSchema } from "portico";
import type { Tab } from "../tab/tab.ts";
import type { Op } from "../op.ts";

/** One kind of action. */
export interface Kind {
  schema: TSchema;
  /** Default limit, ms. */
  timeoutMs: number;
  /** Input goes through the tab's queue; waiting and reading do not hold up others. */
  queued: boolean;
  run(act: Act): Promise<unknown>;
}

/** One action under way. */
export interface Act {
  op: Op;
  tab: Tab;
  // biome-ignore lint/suspicious/noExplicitAny: checked against the kind's own schema, which the table cannot express
  input: any;
  timeoutMs: number;
  /** The caller set the limit. */
  explicit: boolean;
  /** Runs a further action in the same tab; `at` is its place in the input. */
  again(action: Record<string, unknown>, at: string): Promise<unknown>;
}
