/** Usage of models: sums per minute, and blocks of single requests. */
import { rowLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { emptyTimes, timeColumns } from "../records/usage-times.ts";
import { all, whereClause, first, insertion, remove, run } from "../sql/query.ts";
import type {
  NewRequests,
  RequestBlock,
  RequestRange,
  UsageFilter,
  UsageGroup,
  UsageRecord,
  UsageSum,
} from "../types.ts";

const MINUTE = 60_000;
const PERIODS = { minute: MINUTE, hour: 60 * MINUTE, day: 24 * 60 * MINUTE } as const;

const SUMS = [
  "requests",
  "errors",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "cost",
  "unmetered",
  "unpriced",
  "estimated",
  "duration_ms",
] as const;
const DURATIONS = timeColumns("duration");
const FIRST_BYTES = timeColumns("first_byte");
const ADDED_COLUMNS = [...SUMS, ...DURATIONS, ...FIRST_BYTES];
const NO_TIMES: readonly number[] = emptyTimes();

const DIMENSIONS = ["client", "channel", "model", "alias", "principal"];
const upsertMinute = upsertInto("usage_minutes", ["minute", ...DIMENSIONS]);
const upsertTag = upsertInto("usage_tags", ["minute", "tag", ...DIMENSIONS]);

function upsertInto(table: string, key: readonly string[]): string {
  const columns = [...key, ...ADDED_COLUMNS];
  const sums = ADDED_COLUMNS.map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`);
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})
    ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}

/** One lock for all usage, since all gateways add to the same few rows and number their requests from one counter. */
const USAGE_LOCK = rowLock("usage");

function* addUsage(tx: Transaction, records: readonly UsageRecord[]): Operation<void> {
  for (const record of records) {
    const at = record.at ?? tx.now;
    const minute = at - (at % MINUTE);
    const { key: client = "", channel = "", model = "", alias = "", principal = "" } = record;
    const dimensions = [client, channel, model, alias, principal];
    const { tag } = record;
    const key = tag === undefined ? [minute, ...dimensions] : [minute, tag, ...dimensions];
    yield {
      sql: tag === undefined ? upsertMinute : upsertTag,
      params: [...key, ...toColumnValues(record)],
      hasFractions: true,
    };
  }
}

/** Returns the values in the order of `ADDED_COLUMNS`. */
function toColumnValues(record: UsageRecord): number[] {
  return [
    record.requests ?? 1,
    record.errors ?? 0,
    record.promptTokens ?? 0,
    record.completionTokens ?? 0,
    record.cachedTokens ?? 0,
    record.cost ?? 0,
    record.unmetered ?? 0,
    record.unpriced ?? 0,
    record.estimated ?? 0,
    record.durationMs ?? 0,
    ...(record.durations ?? NO_TIMES),
    ...(record.firstBytes ?? NO_TIMES),
  ];
}

/** Sums usage. Tags have rows of their own: a request without a tag is in none of them, one with two tags in two. */
export function* sumUsage(filter: UsageFilter): Operation<UsageSum[]> {
  const isByTag = filter.tag !== undefined || filter.by?.includes("tag") === true;
  const groups = new Map<string, string>();
  for (const by of filter.by ?? []) {
    if (isPeriod(by)) groups.set("at", `minute - minute % ${PERIODS[by]}`);
    else groups.set(by, by === "key" ? "client" : by);
  }
  const { where, params } = whereClause([
    [
      "minute >= ?",
      filter.since === undefined ? undefined : filter.since - (filter.since % MINUTE),
    ],
    ["minute < ?", filter.until],
    ["channel = ?", filter.channel],
    ["model = ?", filter.model],
    ["client = ?", filter.key],
    ["tag = ?", filter.tag],
    ["alias = ?", filter.alias],
    ["principal = ?", filter.principal],
  ]);
  const selected = [...groups].map(([name, sql]) => `${sql} AS "${name}", `).join("");
  const rows = yield* all<Record<string, unknown>>(
    `SELECT ${selected} COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(errors), 0) AS errors,
       COALESCE(SUM(prompt_tokens), 0) AS "promptTokens", COALESCE(SUM(completion_tokens), 0) AS "completionTokens",
       COALESCE(SUM(cached_tokens), 0) AS "cachedTokens", COALESCE(SUM(cost), 0) AS cost,
       COALESCE(SUM(unmetered), 0) AS unmetered, COALESCE(SUM(unpriced), 0) AS unpriced,
       COALESCE(SUM(estimated), 0) AS estimated, COALESCE(SUM(duration_ms), 0) AS "durationMs"
       ${filter.withTimes === true ? timeSums : ""}
     FROM ${isByTag ? "usage_tags" : "usage_minutes"} ${where}
     ${groups.size > 0 ? `GROUP BY ${[...groups.values()].join(", ")} ORDER BY ${[...groups.values()].join(", ")}` : ""}`,
    ...params,
  );
  if (filter.withTimes === true) return rows.map((row) => sumWithTimes({ ...row }));
  return rows.map((row) => ({ ...row }) as unknown as UsageSum);
}

const timeSums = [...DURATIONS, ...FIRST_BYTES]
  .map((column) => `, COALESCE(SUM(${column}), 0) AS ${column}`)
  .join("");

/** Puts the buckets of a row into lists. */
function sumWithTimes(row: Record<string, unknown>): UsageSum {
  const take = (columns: readonly string[]) =>
    columns.map((column) => {
      const count = row[column];
      delete row[column];
      return count;
    });
  const [durations, firstBytes] = [take(DURATIONS), take(FIRST_BYTES)];
  return { ...row, durations, firstBytes } as unknown as UsageSum;
}

function isPeriod(by: UsageGroup): by is keyof typeof PERIODS {
  return by in PERIODS;
}

/** Adds usage in transactions of its own, so that nothing else waits for the usage of other gateways. */
export function appendUsage(
  records: readonly UsageRecord[],
  requests: NewRequests | undefined,
): Write<void> {
  return {
    locks: [USAGE_LOCK],
    group: "usage",
    isSoft: true,
    *run(tx) {
      yield* addUsage(tx, records);
      if (requests) yield* addRequests(requests);
    },
  };
}

const insertBlocks = insertion(
  "INSERT INTO usage_requests (number, requests, first_at, last_at, lines)",
  "(?, ?, ?, ?, ?)",
  "",
);

function* addRequests({ blocks, keep }: NewRequests): Operation<void> {
  const counter = yield* first<{ value: number }>(
    "UPDATE counters SET value = value + ? WHERE name = 'usage_requests' RETURNING value",
    blocks.reduce((sum, block) => sum + block.requests, 0),
  );
  const newest = counter?.value ?? 0;
  let number = newest;
  const rows = blocks.toReversed().map(({ requests, firstAt, lastAt, lines }) => {
    const row = [number, requests, firstAt, lastAt, lines];
    number -= requests;
    return row;
  });
  yield* insertBlocks(rows);
  yield* run("DELETE FROM usage_requests WHERE number <= ?", newest - keep);
}

/** The largest number of blocks in one result. On a gateway with few requests, most blocks hold one. */
const MAX_BLOCKS = 500;

export function* listRequests({
  since,
  until,
  after,
  least,
}: RequestRange): Operation<RequestBlock[]> {
  // A block that begins in the range ends within the span of the longest block. This bound lets the index limit the search.
  const end = after
    ? "(last_at, number) < (?, ?)"
    : "last_at <= ? + (SELECT MAX(last_at - first_at) FROM usage_requests)";
  const ends = after ? [after.lastAt, after.number] : [until];
  const selectBlocks = <R>(columns: string, limit: number) =>
    all<R>(
      `SELECT ${columns} FROM usage_requests WHERE last_at >= ? AND first_at <= ? AND ${end}
       ORDER BY last_at DESC, number DESC LIMIT ?`,
      since,
      until,
      ...ends,
      limit,
    );
  let requestCount = 0;
  let blocks = 0;
  for (const { requests } of yield* selectBlocks<{ requests: number }>("requests", MAX_BLOCKS)) {
    if (requestCount >= least) break;
    requestCount += requests;
    blocks++;
  }
  return yield* selectBlocks<RequestBlock>(
    `number, requests, first_at AS "firstAt", last_at AS "lastAt", lines`,
    blocks,
  );
}

export function pruneUsage(before: number): Write<number> {
  return {
    locks: [USAGE_LOCK],
    group: "usage",
    *run() {
      const sums = yield* remove("DELETE FROM usage_minutes WHERE minute < ?", before);
      yield* remove("DELETE FROM usage_tags WHERE minute < ?", before);
      return sums + (yield* remove("DELETE FROM usage_requests WHERE last_at < ?", before));
    },
  };
}
