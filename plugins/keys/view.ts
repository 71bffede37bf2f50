/** The view of a key that routes and commands show. */
import type { PluginContext } from "portico";
import { periodOf } from "portico/models";
import { endOf, type State, stateOf, versionOf } from "./grant.ts";
import type { KeyConfig } from "./schema.ts";
import { budgetWarnings, estimateWarnings } from "./warnings.ts";

/** A key without its hashes and its id. */
export interface KeyView extends Omit<KeyConfig, "hash" | "previous" | "id"> {
  name: string;
  /** A text that differs after every change of the key. */
  version: string;
  state: State;
  /** The time until which the previous secret works; absent once it no longer does. */
  previousUntil?: string | undefined;
  /** The cost in the budget's current day or month; null if it is unknown. */
  spentUsd?: number | null | undefined;
  /** Set if its budget has no effect, or if the key does not work from the start. */
  warnings?: string[] | undefined;
}

export async function viewOf(ctx: PluginContext, name: string, key: KeyConfig): Promise<KeyView> {
  const { hash: _hash, id: _id, previous, ...rest } = key;
  const now = ctx.use("store").now();
  const end = rest.expiresAt ?? rest.expires;
  const isOverlapping = previous !== undefined && endOf(previous.until) > now;
  const warnings = [
    ...(await budgetWarnings(ctx, rest)),
    ...(await estimateWarnings(ctx, name, rest).catch(() => [])),
  ];
  return {
    name,
    version: versionOf(key),
    state: stateOf(rest, now),
    ...rest,
    // The older name is shown in addition to the newer one.
    expiresAt: end,
    expires: end,
    previousUntil: isOverlapping ? previous.until : undefined,
    spentUsd: await readSpending(ctx, name, rest.budget),
    warnings: warnings.length > 0 ? warnings : undefined,
  };
}

/** Returns the cost in the current period; null if it is unknown, undefined for a key without a budget. */
export async function readSpending(
  ctx: PluginContext,
  name: string,
  budget: KeyConfig["budget"],
): Promise<number | null | undefined> {
  if (budget === undefined) return undefined;
  const usage = ctx.find("usage");
  const since = periodOf(budget.per, ctx.use("store").now()).start;
  return usage === undefined ? null : usage.spent(name, since).catch(() => null);
}
