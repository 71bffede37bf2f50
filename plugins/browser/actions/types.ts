/** The types of the kinds of `/act`. */
import type { TSchema } from "portico";
import type { Tab } from "../tab/tab.ts";
import type { Op } from "../op.ts";

/** One kind of action. */
export interface Kind {
  schema: TSchema;
  /** The default timeout in ms. */
  timeoutMs: number;
  /** True for input, which goes through the tab's queue. Waiting and reading do not block other actions. */
  isQueued: boolean;
  run(act: Act): Promise<unknown>;
}

/** One action in progress. */
export interface Act {
  op: Op;
  tab: Tab;
  // biome-ignore lint/suspicious/noExplicitAny: checked against the kind's own schema, which the table cannot express
  input: any;
  timeoutMs: number;
  /** True if the caller set the timeout. */
  isExplicit: boolean;
  /** Runs a nested action in the same tab; `path` is its position in the input. */
  runNested(action: Record<string, unknown>, path: string): Promise<unknown>;
}
