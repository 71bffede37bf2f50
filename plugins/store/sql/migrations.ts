/**
 * The tables as migrations that only go forward: never edit a released migration; add a change as a new one at the end.
 * SQLite and PostgreSQL both accept these statements. A part that SQL alone cannot do is an operation.
 */
import type { Operation } from "./operation.ts";
import { timeColumns } from "../records/usage-times.ts";
import { unpackDeliveries } from "./packed-deliveries.ts";

export type MigrationPart = string | (() => Operation<void>);

export const migrations: readonly (readonly MigrationPart[])[] = [
  [
    `CREATE TABLE items (
      seq {serial},
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      lane TEXT NOT NULL,
      state TEXT NOT NULL,
      body TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      failures INTEGER NOT NULL DEFAULT 0,
      max_attempts INTEGER NOT NULL,
      created_at BIGINT NOT NULL,
      run_at BIGINT NOT NULL,
      started_at BIGINT,
      finished_at BIGINT,
      retry_at BIGINT,
      result TEXT,
      error TEXT,
      drained_by TEXT
    )`,
    // run_at 0 means at once. The index returns the waiting items of a lane in order, however long the lane is.
    "CREATE INDEX items_waiting ON items (kind, lane, run_at, seq) WHERE state = 'queued'",
    "CREATE INDEX items_drained ON items (drained_by) WHERE drained_by IS NOT NULL",
    "CREATE INDEX items_by_state ON items (kind, state, seq)",
    "CREATE INDEX items_ended ON items (finished_at) WHERE finished_at IS NOT NULL",
    `CREATE TABLE lanes (
      kind TEXT NOT NULL,
      lane TEXT NOT NULL,
      ready_at BIGINT NOT NULL,
      ord BIGINT NOT NULL,
      since BIGINT NOT NULL,
      head TEXT,
      token BIGINT NOT NULL DEFAULT 0,
      worker TEXT,
      lease_until BIGINT,
      PRIMARY KEY (kind, lane)
    )`,
    "CREATE INDEX lanes_ready ON lanes (kind, ready_at, ord)",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
    "INSERT INTO counters (name, value) VALUES ('token', 0)",
    "CREATE TABLE known (key TEXT PRIMARY KEY, answer TEXT, at BIGINT NOT NULL, expires_at BIGINT NOT NULL)",
    "CREATE INDEX known_expiry ON known (expires_at)",
    `CREATE TABLE schedules (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      name TEXT,
      enabled INTEGER NOT NULL,
      next_at BIGINT,
      body TEXT NOT NULL,
      state TEXT,
      poll_cursor TEXT,
      rev BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (kind, id)
    )`,
    "CREATE INDEX schedules_due ON schedules (kind, next_at) WHERE enabled = 1 AND next_at IS NOT NULL",
    "CREATE TABLE limits (key TEXT PRIMARY KEY, hits TEXT NOT NULL, expires_at BIGINT NOT NULL)",
    "CREATE INDEX limits_expiry ON limits (expires_at)",
    `CREATE TABLE kv (
      namespace TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT NOT NULL,
      expires_at BIGINT,
      PRIMARY KEY (namespace, key)
    )`,
    "CREATE INDEX kv_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL",
    `CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      messages INTEGER NOT NULL DEFAULT 0,
      last_seq BIGINT NOT NULL DEFAULT 0,
      meta TEXT NOT NULL
    )`,
    "CREATE INDEX sessions_used ON sessions (updated_at)",
    `CREATE TABLE messages (
      session TEXT NOT NULL,
      seq BIGINT NOT NULL,
      role TEXT NOT NULL,
      body TEXT NOT NULL,
      turn_id TEXT,
      at BIGINT NOT NULL,
      PRIMARY KEY (session, seq)
    )`,
    `CREATE TABLE deliveries (
      id TEXT PRIMARY KEY,
      at BIGINT NOT NULL,
      source TEXT NOT NULL,
      outcome TEXT NOT NULL,
      item_id TEXT,
      meta TEXT NOT NULL,
      payload TEXT
    )`,
    "CREATE INDEX deliveries_at ON deliveries (at)",
    `CREATE TABLE runs (
      id TEXT PRIMARY KEY,
      owner TEXT NOT NULL,
      at BIGINT NOT NULL,
      status TEXT NOT NULL,
      ended_at BIGINT,
      item_id TEXT,
      data TEXT
    )`,
    "CREATE INDEX runs_owner ON runs (owner, at)",
    "CREATE INDEX runs_status ON runs (status, at)",
    `CREATE TABLE usage_minutes (
      minute BIGINT NOT NULL,
      client TEXT NOT NULL,
      channel TEXT NOT NULL,
      model TEXT NOT NULL,
      requests BIGINT NOT NULL,
      errors BIGINT NOT NULL,
      prompt_tokens BIGINT NOT NULL,
      completion_tokens BIGINT NOT NULL,
      cached_tokens BIGINT NOT NULL,
      cost DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (minute, client, channel, model)
    )`,
    "CREATE INDEX usage_client ON usage_minutes (client, minute)",
  ],
  [
    "ALTER TABLE usage_minutes ADD COLUMN unmetered BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE usage_minutes ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0",
  ],
  [
    // Requests are numbered in the order in which they are written; a block has the number of its last request.
    `CREATE TABLE usage_requests (
      number BIGINT PRIMARY KEY,
      requests INTEGER NOT NULL,
      first_at BIGINT NOT NULL,
      last_at BIGINT NOT NULL,
      lines TEXT NOT NULL
    )`,
    "CREATE INDEX usage_requests_end ON usage_requests (last_at, number)",
    "CREATE INDEX usage_requests_span ON usage_requests ((last_at - first_at))",
    "INSERT INTO counters (name, value) VALUES ('usage_requests', 0)",
  ],
  ["CREATE INDEX lanes_leased ON lanes (worker) WHERE worker IS NOT NULL"],
  [
    "DROP INDEX items_waiting",
    "CREATE INDEX items_waiting ON items (kind, lane, run_at, seq) WHERE {waiting}",
  ],
  [
    // A row may hold several deliveries that arrived together.
    "ALTER TABLE deliveries ADD COLUMN size INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE deliveries ADD COLUMN first_id TEXT",
    "CREATE INDEX deliveries_blocks ON deliveries (id, first_id) WHERE first_id IS NOT NULL",
  ],
  [
    // The amounts that requests in progress may use of a limit.
    `CREATE TABLE reservations (
      id TEXT NOT NULL,
      key TEXT NOT NULL,
      amount DOUBLE PRECISION NOT NULL,
      holder TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (id, key)
    )`,
    "CREATE INDEX reservations_key ON reservations (key, expires_at)",
    "CREATE INDEX reservations_holder ON reservations (holder)",
  ],
  [
    "ALTER TABLE usage_minutes ADD COLUMN estimated BIGINT NOT NULL DEFAULT 0",
    // The same sums, once for each tag of a request.
    `CREATE TABLE usage_tags (
      minute BIGINT NOT NULL,
      tag TEXT NOT NULL,
      client TEXT NOT NULL,
      channel TEXT NOT NULL,
      model TEXT NOT NULL,
      requests BIGINT NOT NULL,
      errors BIGINT NOT NULL,
      prompt_tokens BIGINT NOT NULL,
      completion_tokens BIGINT NOT NULL,
      cached_tokens BIGINT NOT NULL,
      cost DOUBLE PRECISION NOT NULL,
      unmetered BIGINT NOT NULL,
      unpriced BIGINT NOT NULL,
      estimated BIGINT NOT NULL,
      PRIMARY KEY (minute, tag, client, channel, model)
    )`,
  ],
  [
    // The size of the session's messages in characters, so that a quota need not read them.
    "ALTER TABLE sessions ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0",
    `UPDATE sessions SET bytes =
      (SELECT COALESCE(SUM(LENGTH(body)), 0) FROM messages WHERE messages.session = sessions.id)`,
  ],
  // The principal for whose share of claims the item counts.
  ["ALTER TABLE items ADD COLUMN holder TEXT"],
  [
    unpackDeliveries,
    "DROP INDEX deliveries_blocks",
    "ALTER TABLE deliveries DROP COLUMN size",
    "ALTER TABLE deliveries DROP COLUMN first_id",
  ],
  // With a counter, the claims of several gateways would wait for each other.
  ["{token sequence}"],
  [
    // The worker that has leased a slot, and the time at which the slot was due.
    "ALTER TABLE schedules ADD COLUMN worker TEXT",
    "ALTER TABLE schedules ADD COLUMN due_at BIGINT",
    "CREATE INDEX schedules_leased ON schedules (worker) WHERE worker IS NOT NULL",
  ],
  [
    // The principal for whose quota a transcript counts.
    "ALTER TABLE sessions ADD COLUMN principal TEXT",
    "CREATE INDEX sessions_principal ON sessions (principal)",
  ],
  [
    // Sums by principal and by the model as clients name it, and the duration of requests.
    ...widenUsage("usage_minutes", ["minute"]),
    ...widenUsage("usage_tags", ["minute", "tag"]),
    "CREATE INDEX usage_client ON usage_minutes (client, minute)",
  ],
  [
    // Counts of requests by duration and by time to the first byte.
    ...countTimes("usage_minutes", ["minute"]),
    ...countTimes("usage_tags", ["minute", "tag"]),
    "CREATE INDEX usage_client ON usage_minutes (client, minute)",
  ],
];

/** Moves the rows to a new table, since SQLite cannot widen a primary key. Older rows know only the principals of keys. */
function widenUsage(table: string, keyStart: readonly string[]): string[] {
  const sums =
    "requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost, unmetered, unpriced, estimated";
  const names = [...keyStart.slice(1), "client", "channel", "model"];
  const key = [...keyStart, "client", "channel", "model"].join(", ");
  const principal = "CASE client WHEN '' THEN '' ELSE 'key:' || client END";
  return [
    `CREATE TABLE usage_wider (
      minute BIGINT NOT NULL,
      ${[...names, "alias", "principal"].map((name) => `${name} TEXT NOT NULL`).join(", ")},
      requests BIGINT NOT NULL,
      errors BIGINT NOT NULL,
      prompt_tokens BIGINT NOT NULL,
      completion_tokens BIGINT NOT NULL,
      cached_tokens BIGINT NOT NULL,
      cost DOUBLE PRECISION NOT NULL,
      unmetered BIGINT NOT NULL,
      unpriced BIGINT NOT NULL,
      estimated BIGINT NOT NULL,
      duration_ms BIGINT NOT NULL,
      PRIMARY KEY (${key}, alias, principal)
    )`,
    `INSERT INTO usage_wider (${key}, alias, principal, ${sums}, duration_ms)
      SELECT ${key}, '', ${principal}, ${sums}, 0 FROM ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE usage_wider RENAME TO ${table}`,
  ];
}

/** Moves the rows to a new table, since SQLite takes long to add so many columns one by one. Older rows count no times. */
function countTimes(table: string, keyStart: readonly string[]): string[] {
  const names = [...keyStart.slice(1), "client", "channel", "model", "alias", "principal"];
  const counts = ["requests", "errors", "prompt_tokens", "completion_tokens", "cached_tokens"];
  const otherSums = ["unmetered", "unpriced", "estimated", "duration_ms"];
  const key = ["minute", ...names].join(", ");
  const columns = [key, ...counts, "cost", ...otherSums].join(", ");
  const times = [...timeColumns("duration"), ...timeColumns("first_byte")];
  return [
    `CREATE TABLE usage_timed (
      minute BIGINT NOT NULL,
      ${names.map((name) => `${name} TEXT NOT NULL`).join(", ")},
      ${counts.map((name) => `${name} BIGINT NOT NULL`).join(", ")},
      cost DOUBLE PRECISION NOT NULL,
      ${otherSums.map((name) => `${name} BIGINT NOT NULL`).join(", ")},
      ${times.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(", ")},
      PRIMARY KEY (${key})
    )`,
    `INSERT INTO usage_timed (${columns}) SELECT ${columns} FROM ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE usage_timed RENAME TO ${table}`,
  ];
}
