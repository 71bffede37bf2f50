/** Emits the events of checks. */
import { exactJson, type PluginContext } from "portico";
import { isoDate } from "portico/schedules";
import type { Run } from "portico/store";
import { type Poll, placeOf, principalOfPoll } from "../poll.ts";
import type { SourceCheck } from "./check.ts";

const ITEMS_IN_EVENT = 50;

const factsOf = ({ row, body }: Poll, run: Run) => ({
  pollId: row.id,
  name: row.name ?? row.id,
  url: placeOf(body.source),
  runId: run.id,
});

const emitOptionsOf = (poll: Poll) => ({
  sessionKey: `poll:${poll.row.id}`,
  principal: principalOfPoll(poll),
});

export async function announceChange(
  ctx: PluginContext,
  poll: Poll,
  run: Run,
  { news, diff }: SourceCheck,
): Promise<void> {
  const changedAt = new Date(run.endedAt!).toISOString();
  const items = news.slice(0, ITEMS_IN_EVENT).map(exactJson.toPlain);
  const change = { ...factsOf(poll, run), changedAt, count: news.length, items, diff };
  await ctx.emit("poll:changed", change, emitOptionsOf(poll));
}

/** `errors` is the number of consecutive failures, `next` the time of the next check in epoch ms. */
export async function announceFailure(
  ctx: PluginContext,
  poll: Poll,
  run: Run,
  { failure, errors, next }: { failure: Error; errors: number; next: number | null },
): Promise<void> {
  await ctx.emit(
    "poll:failed",
    {
      ...factsOf(poll, run),
      failedAt: new Date(run.endedAt!).toISOString(),
      error: failure.message,
      consecutiveErrors: errors,
      nextCheckAt: isoDate(poll.row.enabled ? next : null),
    },
    emitOptionsOf(poll),
  );
}
