/** `portico store`. */
import { commandFor, defineCommand } from "portico/command-line";
import { formatSize } from "./inspection/size-text.ts";
import { storeRoutes } from "./routes-schema.ts";

/** Work on a large store takes minutes. */
const TIMEOUT_MS = 600_000;

interface Status {
  ok: boolean;
  engine: string;
  bytes?: number;
  problem?: string;
  queue?: { kinds: Record<string, Record<string, number>> };
}

const status = commandFor<Status>("GET /store", storeRoutes.health, {
  name: "status",
  summary: "Show the size, health and queues of the store; exit with an error if it has a problem",
  view: describe,
  failure: ({ ok }) =>
    ok ? undefined : "The store has a problem. Run `portico store check` for details.",
});

const check = defineCommand({
  name: "check",
  summary: "Check the store, or a copy of it, for damage; exit with an error if it is damaged",
  description:
    "Without STORE, the running gateway checks its own store; if no gateway is running, the command checks the store in Portico's home directory. With STORE, the command checks that file or database, for example before you restore it; this needs no running gateway and changes nothing.",
  args: [{ name: "store", description: "The store: a file, or postgres://…", optional: true }],
  examples: [
    "portico store check",
    "portico store check state/backups/portico-2026-01-31T04-00-00.000Z-5d8f01c2.db",
  ],
  run: async (io) => (await import("./inspection/command.ts")).check(io),
});

const backup = commandFor<{ name: string; bytes: number }>(
  "POST /store/backup",
  storeRoutes.backup,
  {
    name: "backup",
    summary: "Write a consistent copy into <home>/state/backups",
    progress: "copying …",
    timeoutMs: TIMEOUT_MS,
    view: ({ name, bytes }) => `Wrote state/backups/${name} (${formatSize(bytes)}).`,
  },
);

const migrate = defineCommand({
  name: "migrate",
  summary:
    "Copy the state from one engine to another and compare every row; after an interruption, the same command continues",
  description:
    "Stop all gateways of the source first. The target must be empty, or contain an unfinished copy of the same source.",
  options: {
    from: {
      type: "string",
      value: "URL",
      description: "The source: file:PATH or postgres://… (default: the store of this home)",
    },
    to: { type: "string", value: "URL", description: "The target: file:PATH or postgres://…" },
  },
  examples: ["portico store migrate --to postgres://portico@db.example/portico"],
  run: async (io) => (await import("./migrate.ts")).migrate(io),
});

const compact = commandFor<{ before: number; after: number }>(
  "POST /store/compact",
  storeRoutes.compact,
  {
    name: "compact",
    progress: "compacting …",
    timeoutMs: TIMEOUT_MS,
    view: ({ before, after }) => `From ${formatSize(before)} to ${formatSize(after)}.`,
  },
);

export default defineCommand({
  name: "store",
  summary: "Show, check, copy and compact the store",
  commands: [status, check, backup, migrate, compact],
});

function describe(status: Status): string[] {
  const state = status.ok ? "sound" : (status.problem ?? "has a problem");
  const lines = [
    `${status.engine}: ${state}${status.bytes === undefined ? "" : `, ${formatSize(status.bytes)}`}`,
  ];
  for (const [kind, states] of Object.entries(status.queue?.kinds ?? {})) {
    lines.push(
      `${kind}: ${Object.entries(states)
        .map(([name, n]) => `${n} ${name}`)
        .join(", ")}`,
    );
  }
  return lines;
}
