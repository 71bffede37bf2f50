/** What the bus hears of checks. */
import { exactJson, type PluginContext } from "portico";
import { isoDate } from "portico/schedules";
import type { Run } from "portico/store";
import { type Poll, placeOf, principalOfPoll } from "../poll.ts";
import type { Checked } from "./check.ts";

const ITEMS_IN_EVENT = 50;

const factsOf = ({ row, body }: Poll, run: Run) => ({
  pollId: row.id,
  name: row.name ?? row.id,
  url: placeOf(body.source),
  runId: run.id,
});

const aboutOf = (poll: Poll) => ({
  sessionKey: `poll:${poll.row.id}`,
  principal: principalOfPoll(poll),
});

export async function announceChange(
  ctx: PluginContext,
  poll: Poll,
  run: Run,
  { news, diff }: Checked,
): Promise<void> {
  const changedAt = new Date(run.endedAt!).toISOString();
  const items = news.slice(0, ITEMS_IN_EVENT).map(exactJson.toPlain);
  const change = { ...factsOf(poll, run), changedAt, count: news.length, items, diff };
  await ctx.emit("poll:changed", change, aboutOf(poll));
}

/** `errors` in a row; `next`: when it is looked at again. */
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
    aboutOf(poll),
  );
}
