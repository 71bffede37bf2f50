/** Selects the targets of a model that may be tried now. */
import { type UpstreamError, upstreamError } from "portico/provider";
import { retryAfterSeconds } from "../kit/period.ts";
import type { Budgets } from "./budget.ts";
import type { Channel } from "./channel.ts";
import type { OverLimit } from "./limits/rate-limit.ts";
import type { Candidate } from "./router.ts";

/** Those that do not cool down, in their order; where all do, the one whose cooldown ends first. Throws 429 where all are over limits of their own. */
export function selectTargets(found: Candidate[]): { candidates: Candidate[]; forced: boolean } {
  const all = withinLimits(found);
  if (all.length === 1) return { candidates: all, forced: cooldownOf(all[0]!) !== 0 };
  const ready = all.filter((candidate) => cooldownOf(candidate) === 0);
  if (ready.length > 0) return { candidates: ready, forced: false };
  let first = all[0]!;
  for (const candidate of all) if (cooldownOf(candidate) < cooldownOf(first)) first = candidate;
  return { candidates: [first], forced: true };
}

export function hasBudget({ channel }: Candidate): boolean {
  return channel.config.budget !== undefined;
}

/** Looks up what has been spent. Leaves out those of which that cannot be known; throws where that leaves none. */
export async function withBudgets(
  budgets: Budgets,
  all: Candidate[],
  note: (error: unknown) => void,
): Promise<Candidate[]> {
  const known: Candidate[] = [];
  let failure: unknown;
  for (const candidate of all) {
    try {
      if (hasBudget(candidate)) await budgets.check(candidate.channel);
      known.push(candidate);
    } catch (error) {
      failure ??= error;
    }
  }
  if (known.length === 0) throw failure;
  if (failure !== undefined) note(failure);
  return known;
}

/** Those that are not over their own limits. Throws 429 where all are. */
function withinLimits(all: Candidate[]): Candidate[] {
  if (all.every(isWithinLimits)) return all;
  const within = all.filter(isWithinLimits);
  if (within.length > 0) return within;
  const over = all.map(({ channel }) => ({ channel, limit: channel.overLimit()! }));
  const [first] = over.sort((a, b) => a.limit.until - b.limit.until);
  throw limited(first!.channel, first!.limit);
}

function isWithinLimits({ channel }: Candidate): boolean {
  return channel.overLimit() === undefined;
}

/** The error of a channel that is over one. */
export function limited(channel: Channel, { name, until }: OverLimit): UpstreamError {
  const retryAfter = retryAfterSeconds(until - Date.now());
  const { budget } = channel.config;
  const what =
    name === "budget"
      ? `its budget of $${budget?.usd} per ${budget?.per}`
      : `its own limit (${name})`;
  const when =
    name === "budget"
      ? `A new ${budget?.per} begins at ${new Date(until).toISOString()}`
      : `Try again in ${retryAfter} s`;
  return upstreamError(
    {
      kind: "rate_limit",
      message: `The channel \`${channel.name}\` is over ${what}. ${when}.`,
      retryAfter,
      limit: name,
    },
    0,
  );
}

export function cooldownOf({ channel, model }: Candidate): number {
  return channel.cooldownUntil(model);
}

/** Why a target is passed over while another one is tried. */
export function skipReason(candidate: Candidate): UpstreamError {
  const { channel } = candidate;
  const over = channel.overLimit();
  if (over !== undefined) return limited(channel, over);
  const why =
    cooldownOf(candidate) === 0
      ? "has a budget, and its costs are not known at the moment"
      : "is in cooldown after failures in a row";
  return upstreamError({ kind: "upstream", message: `The channel \`${channel.name}\` ${why}.` }, 0);
}

/** All its places are taken, and none came free. */
export function busy(channel: Channel): UpstreamError {
  return upstreamError(
    {
      kind: "rate_limit",
      message: `The channel \`${channel.name}\` is busy: all its ${channel.config.maxConcurrent} places are taken. Try again in a moment.`,
      retryAfter: 1,
      limit: "maxConcurrent",
    },
    0,
  );
}
