/** Selects the targets of a model that may be tried now. */
import { type UpstreamError, upstreamError } from "portico/provider";
import { retryAfterSeconds } from "../kit/period.ts";
import type { Budgets } from "./budget.ts";
import type { Channel } from "./channel.ts";
import type { OverLimit } from "./limits/rate-limit.ts";
import type { Candidate } from "./router.ts";

/**
 * Selects the targets that are not in cooldown, in their order, or else the one whose cooldown ends first. Throws 429
 * if all are over their own limits.
 */
export function selectTargets(candidates: Candidate[]): {
  candidates: Candidate[];
  forced: boolean;
} {
  const all = withinLimits(candidates);
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

/**
 * Updates the cost of each channel with a budget. Leaves out those whose cost cannot be read, and throws if that leaves
 * none.
 */
export async function selectAffordable(
  budgets: Budgets,
  all: Candidate[],
  reportError: (error: unknown) => void,
): Promise<Candidate[]> {
  const affordable: Candidate[] = [];
  let failure: unknown;
  for (const candidate of all) {
    try {
      if (hasBudget(candidate)) await budgets.check(candidate.channel);
      affordable.push(candidate);
    } catch (error) {
      failure ??= error;
    }
  }
  if (affordable.length === 0) throw failure;
  if (failure !== undefined) reportError(failure);
  return affordable;
}

/** Returns the candidates that are within their own limits. Throws 429 if none is. */
function withinLimits(all: Candidate[]): Candidate[] {
  if (all.every(isWithinLimits)) return all;
  const available = all.filter(isWithinLimits);
  if (available.length > 0) return available;
  const limitedChannels = all.map(({ channel }) => ({ channel, limit: channel.overLimit()! }));
  const [first] = limitedChannels.sort((a, b) => a.limit.until - b.limit.until);
  throw limitError(first!.channel, first!.limit);
}

function isWithinLimits({ channel }: Candidate): boolean {
  return channel.overLimit() === undefined;
}

/** Creates the error of a channel that is over a limit. */
export function limitError(channel: Channel, { name, until }: OverLimit): UpstreamError {
  const retryAfter = retryAfterSeconds(until - Date.now());
  const { budget } = channel.config;
  const limitText =
    name === "budget"
      ? `its budget of $${budget?.usd} per ${budget?.per}`
      : `its own limit (${name})`;
  const retryText =
    name === "budget"
      ? `The next ${budget?.per} begins at ${new Date(until).toISOString()}`
      : `Try again in ${retryAfter} s`;
  return upstreamError(
    {
      kind: "rate_limit",
      message: `The channel \`${channel.name}\` is over ${limitText}. ${retryText}.`,
      retryAfter,
      limit: name,
    },
    0,
  );
}

export function cooldownOf({ channel, model }: Candidate): number {
  return channel.cooldownUntil(model);
}

/** Creates the error that explains why a target is skipped while another one is tried. */
export function skipReason(candidate: Candidate): UpstreamError {
  const { channel } = candidate;
  const limit = channel.overLimit();
  if (limit !== undefined) return limitError(channel, limit);
  const reason =
    cooldownOf(candidate) === 0
      ? "has a budget, but the costs of the channel are not known at the moment"
      : "is in cooldown after repeated failures";
  return upstreamError(
    { kind: "upstream", message: `The channel \`${channel.name}\` ${reason}.` },
    0,
  );
}

/** Creates the error of a channel whose places stayed taken for the whole waiting time. */
export function busyError(channel: Channel): UpstreamError {
  return upstreamError(
    {
      kind: "rate_limit",
      message: `The channel \`${channel.name}\` is busy: it already has ${channel.config.maxConcurrent} requests in progress, the limit that maxConcurrent sets. Try again in a moment.`,
      retryAfter: 1,
      limit: "maxConcurrent",
    },
    0,
  );
}
