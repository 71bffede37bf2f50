/** Usage of models: sums per minute, and blocks of single requests. */
import type { Operation, Transaction } from "../sql/operation.ts";
import { all, conditions, first, insertion, run } from "../sql/query.ts";
import type {
  NewRequests,
  RequestBlock,
  RequestRange,
  UsageFilter,
  UsageRecord,
  UsageSum,
} from "../types.ts";

const MINUTE = 60_000;
const PERIODS = { minute: MINUTE, hour: 60 * MINUTE, day: 24 * 60 * MINUTE } as const;

export function* addUsage(tx: Transaction, records: readonly UsageRecord[]): Operation<void> {
  // in order, so that two transactions never wait for each other crosswise
  for (const record of records.toSorted(byRow)) {
    const at = record.at ?? tx.now;
    yield {
      sql: `INSERT INTO usage_minutes
         (minute, client, channel, model, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost,
          unmetered, unpriced)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (minute, client, channel, model) DO UPDATE SET
         requests = usage_minutes.requests + excluded.requests,
         errors = usage_minutes.errors + excluded.errors,
         prompt_tokens = usage_minutes.prompt_tokens + excluded.prompt_tokens,
         completion_tokens = usage_minutes.completion_tokens + excluded.completion_tokens,
         cached_tokens = usage_minutes.cached_tokens + excluded.cached_tokens,
         cost = usage_minutes.cost + excluded.cost,
         unmetered = usage_minutes.unmetered + excluded.unmetered,
         unpriced = usage_minutes.unpriced + excluded.unpriced`,
      params: [
        at - (at % MINUTE),
        record.key ?? "",
        record.channel ?? "",
        record.model ?? "",
        record.requests ?? 1,
        record.errors ?? 0,
        record.promptTokens ?? 0,
        record.completionTokens ?? 0,
        record.cachedTokens ?? 0,
        record.cost ?? 0,
        record.unmetered ?? 0,
        record.unpriced ?? 0,
      ],
      fractions: true,
    };
  }
}

function byRow(a: UsageRecord, b: UsageRecord): number {
  const minutes =
    (a.at ?? Infinity) === (b.at ?? Infinity) ? 0 : (a.at ?? Infinity) - (b.at ?? Infinity);
  return (
    minutes || compare(a.key, b.key) || compare(a.channel, b.channel) || compare(a.model, b.model)
  );
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function* sumUsage(filter: UsageFilter): Operation<UsageSum[]> {
  const groups = new Map<string, string>();
  for (const by of filter.by ?? []) {
    if (by === "key") groups.set("key", "client");
    else if (by === "channel" || by === "model") groups.set(by, by);
    else groups.set("at", `minute - minute % ${PERIODS[by]}`);
  }
  const { where, params } = conditions([
    [
      "minute >= ?",
      filter.since === undefined ? undefined : filter.since - (filter.since % MINUTE),
    ],
    ["minute < ?", filter.until],
    ["channel = ?", filter.channel],
    ["model = ?", filter.model],
    ["client = ?", filter.key],
  ]);
  const selected = [...groups].map(([name, sql]) => `${sql} AS "${name}", `).join("");
  const rows = yield* all<Record<string, unknown>>(
    `SELECT ${selected} COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(errors), 0) AS errors,
       COALESCE(SUM(prompt_tokens), 0) AS "promptTokens", COALESCE(SUM(completion_tokens), 0) AS "completionTokens",
       COALESCE(SUM(cached_tokens), 0) AS "cachedTokens", COALESCE(SUM(cost), 0) AS cost,
       COALESCE(SUM(unmetered), 0) AS unmetered, COALESCE(SUM(unpriced), 0) AS unpriced
     FROM usage_minutes ${where}
     ${groups.size > 0 ? `GROUP BY ${[...groups.values()].join(", ")} ORDER BY ${[...groups.values()].join(", ")}` : ""}`,
    ...params,
  );
  return rows.map((row) => ({ ...row }) as unknown as UsageSum);
}

export function* appendUsage(
  tx: Transaction,
  records: readonly UsageRecord[],
  requests: NewRequests | undefined,
): Operation<void> {
  yield* addUsage(tx, records);
  if (requests) yield* addRequests(requests);
}

const insertBlocks = insertion(
  "INSERT INTO usage_requests (number, requests, first_at, last_at, lines)",
  "(?, ?, ?, ?, ?)",
  "",
);

function* addRequests({ blocks, keep }: NewRequests): Operation<void> {
  const written = yield* first<{ value: number }>(
    "UPDATE counters SET value = value + ? WHERE name = 'usage_requests' RETURNING value",
    blocks.reduce((sum, block) => sum + block.requests, 0),
  );
  const newest = written?.value ?? 0;
  let number = newest;
  const rows = blocks.toReversed().map(({ requests, firstAt, lastAt, lines }) => {
    const row = [number, requests, firstAt, lastAt, lines];
    number -= requests;
    return row;
  });
  yield* insertBlocks(rows);
  yield* run("DELETE FROM usage_requests WHERE number <= ?", newest - keep);
}

/** Blocks in one answer; most hold one request where little is asked. */
const MOST_BLOCKS = 500;

export function* listRequests({
  since,
  until,
  after,
  least,
}: RequestRange): Operation<RequestBlock[]> {
  // No block is longer than the longest: so those that end far behind the range need not be looked at.
  const end = after
    ? "(last_at, number) < (?, ?)"
    : "last_at <= ? + (SELECT MAX(last_at - first_at) FROM usage_requests)";
  const ends = after ? [after.lastAt, after.number] : [until];
  const rows = <R>(columns: string, limit: number) =>
    all<R>(
      `SELECT ${columns} FROM usage_requests WHERE last_at >= ? AND first_at <= ? AND ${end}
       ORDER BY last_at DESC, number DESC LIMIT ?`,
      since,
      until,
      ...ends,
      limit,
    );
  let held = 0;
  let blocks = 0;
  for (const { requests } of yield* rows<{ requests: number }>("requests", MOST_BLOCKS)) {
    if (held >= least) break;
    held += requests;
    blocks++;
  }
  return yield* rows<RequestBlock>(
    `number, requests, first_at AS "firstAt", last_at AS "lastAt", lines`,
    blocks,
  );
}

export function* pruneUsage(before: number): Operation<number> {
  const sums = yield* run("DELETE FROM usage_minutes WHERE minute < ?", before);
  return sums + (yield* run("DELETE FROM usage_requests WHERE last_at < ?", before));
}
