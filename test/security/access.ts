/**
 * Who may use what. `access.test.ts` tries every cell over HTTP with real credentials, and SECURITY.md shows it: after a
 * change run `npx tsx test/security/render.ts`. A new tool or route needs a row here: write down who is meant to have it
 * before looking at who has.
 */

/** Whose turns the columns of the tables of tools, sessions and reach stand for. */
export const PRINCIPALS = ["owner", "key", "webhook key", "mapping", "poll", "outside"] as const;
export type Column = (typeof PRINCIPALS)[number];

/** A row that is the same for all who are neither the owner nor nobody. */
function row(owner: string, others: string, outside = "–"): Record<Column, string> {
  return { owner, key: others, "webhook key": others, mapping: others, poll: others, outside };
}

const NO = "–";
/** Only where `tools` in the entry of the key, webhook, mapping or poll names it. */
const BY_NAME = "by name";

export const TOOLS: Record<string, Record<Column, string>> = {
  files: row("workspace", "own directory"),
  memory: row("workspace", "own directory"),
  web: row("as configured", "public addresses"),
  browser: row("host, profiles, nodes", "own context"),
  sessions: row("all", "own"),
  cron: row("all jobs", BY_NAME),
  polls: row("all polls", BY_NAME),
  "tools of MCP servers": row("yes", BY_NAME),
  "tools of plugins": row("yes", BY_NAME),
};

/** The files in the prompt of a turn, and what it can reach in addition to its tools. */
export const REACH: Record<string, Record<Column, string>> = {
  "`AGENTS.md`, `SOUL.md`": row("in its prompt", "in its prompt", "in its prompt"),
  "`USER.md`, `TOOLS.md`, `MEMORY.md` of the workspace": row("in its prompt", NO),
  "`MEMORY.md` of its own": row(NO, "in its prompt, as data"),
  "private addresses": row("where settings allow", NO),
  "posting to the main session": {
    ...row("yes", NO),
    mapping: "if its entry sets `announce`, as data",
  },
};

export const SESSIONS: Record<string, Record<Column, string>> = {
  "the session that the turn runs in": row("yes", "yes", "no tool"),
  "sessions under its own name (`key:NAME:…`)": row("yes", "yes", "no tool"),
  "sessions that its entry names": row("yes", "yes", "no tool"),
  "`main`, and those of others": row("yes", NO, "no tool"),
};

/** Whose requests the columns of the table of routes stand for. */
export const CREDENTIALS = [
  "gateway token",
  "client key",
  "webhooks.token",
  "webhook key",
  "none",
] as const;
export type Credential = (typeof CREDENTIALS)[number];

export interface RouteRows {
  /** What they have in common, for readers. */
  about: string;
  allowed: readonly Credential[];
  /** Of the gateway's server unless a name and a colon stand before the path. */
  routes: readonly string[];
}

const OWNER = ["gateway token"] as const;

export const ROUTES: readonly RouteRows[] = [
  {
    about: "health, and the dashboard's files (which hold no data)",
    allowed: CREDENTIALS,
    routes: [
      "GET /",
      "GET /dashboard/page/*",
      "GET /docs",
      "GET /docs/*",
      "GET /health",
      "GET /ready",
    ],
  },
  {
    about: "models: what a key may use is in its entry",
    allowed: ["gateway token", "client key"],
    routes: [
      "GET /v1/models",
      "GET /v1/models/*",
      "POST /v1/audio/speech",
      "POST /v1/audio/transcriptions",
      "POST /v1/audio/translations",
      "POST /v1/chat/completions",
      "POST /v1/completions",
      "POST /v1/embeddings",
      "POST /v1/images/edits",
      "POST /v1/images/generations",
      "POST /v1/messages",
      "POST /v1/messages/count_tokens",
      "POST /v1/moderations",
      "POST /v1/rerank",
      "POST /v2/rerank",
    ],
  },
  {
    about: "stored responses: a key's are its own",
    allowed: ["gateway token", "client key"],
    routes: [
      "DELETE /v1/responses/:id",
      "GET /v1/responses/:id",
      "GET /v1/responses/:id/input_items",
      "POST /v1/responses",
      "POST /v1/responses/compact",
      "POST /v1/responses/input_tokens",
    ],
  },
  {
    about: "webhooks: a key only the paths of its entry, and it reads only what it has sent",
    allowed: ["webhooks.token", "webhook key"],
    routes: [
      "ANY /hooks",
      "ANY /hooks/*",
      "GET /hooks/events/:id",
      "GET /hooks/turns/:id",
      "POST /hooks",
      "POST /hooks/:mapping",
      "POST /hooks/agent",
      "POST /hooks/wake",
    ],
  },
  {
    about: "the agent, its turns, sessions and tools",
    allowed: OWNER,
    routes: [
      "DELETE /sessions/:id",
      "GET /events",
      "GET /heartbeat",
      "GET /requests",
      "GET /requests/:id",
      "GET /sessions",
      "GET /sessions/:id",
      "GET /tools",
      "GET /turns",
      "GET /turns/:id",
      "POST /agent",
      "POST /heartbeat",
      "POST /turns/:id/cancel",
      "POST /turns/:id/confirm",
      "POST /turns/:id/deny",
      "POST /turns/:id/replay",
    ],
  },
  {
    about: "schedules, polls, deliveries",
    allowed: OWNER,
    routes: [
      "DELETE /cron/jobs/:id",
      "DELETE /polls/:id",
      "DELETE /polls/jobs/:id",
      "GET /cron/jobs",
      "GET /cron/jobs/:id",
      "GET /cron/jobs/:id/runs",
      "GET /deliveries",
      "GET /deliveries/:id",
      "GET /polls",
      "GET /polls/:id",
      "GET /polls/:id/runs",
      "GET /polls/jobs",
      "GET /polls/jobs/:id",
      "GET /polls/jobs/:id/runs",
      "PATCH /cron/jobs/:id",
      "PATCH /polls/:id",
      "PATCH /polls/jobs/:id",
      "POST /cron/jobs",
      "POST /cron/jobs/:id/disable",
      "POST /cron/jobs/:id/enable",
      "POST /cron/jobs/:id/run",
      "POST /cron/preview",
      "POST /deliveries/:id/replay",
      "POST /polls",
      "POST /polls/:id/disable",
      "POST /polls/:id/enable",
      "POST /polls/:id/run",
      "POST /polls/:id/test",
      "POST /polls/jobs",
      "POST /polls/jobs/:id/disable",
      "POST /polls/jobs/:id/enable",
      "POST /polls/jobs/:id/run",
      "POST /polls/jobs/:id/test",
      "POST /polls/jobs/test",
      "POST /polls/test",
    ],
  },
  {
    about: "keys and usage",
    allowed: OWNER,
    routes: [
      "DELETE /keys/:name",
      "GET /keys",
      "GET /keys/:name",
      "GET /usage",
      "GET /usage/requests",
      "PATCH /keys/:name",
      "POST /keys",
      "POST /keys/:name/rotate",
    ],
  },
  {
    about: "configuration, hooks, plugins, logs, the audit trail",
    allowed: OWNER,
    routes: [
      "GET /audit",
      "GET /audit/:id",
      "GET /kernel/config",
      "GET /kernel/config/diff",
      "GET /kernel/config/export",
      "GET /kernel/config/history",
      "GET /kernel/events",
      "GET /kernel/hooks",
      "GET /kernel/hooks/:name",
      "GET /kernel/hooks/:name/code",
      "GET /kernel/hooks/:name/logs",
      "GET /kernel/logs",
      "GET /kernel/plugins",
      "GET /kernel/plugins/:name",
      "GET /kernel/status",
      "PATCH /kernel/config",
      "POST /kernel/config",
      "POST /kernel/config/import",
      "POST /kernel/config/refresh",
      "POST /kernel/config/undo",
      "POST /kernel/hooks/:name/approve",
      "POST /kernel/hooks/:name/check",
      "POST /kernel/hooks/:name/disable",
      "POST /kernel/hooks/:name/enable",
      "POST /kernel/hooks/:name/reload",
      "POST /kernel/hooks/:name/run",
      "POST /kernel/hooks/reload",
      "POST /kernel/hooks/rescan",
      "POST /kernel/plugins/:name/disable",
      "POST /kernel/plugins/:name/enable",
      "POST /kernel/plugins/:name/reload",
      "POST /kernel/plugins/rescan",
    ],
  },
  {
    about: "the store, and the gateways that share it",
    allowed: OWNER,
    routes: [
      "GET /gateways",
      "GET /store",
      "GET /store/lanes",
      "POST /store/backup",
      "POST /store/check",
      "POST /store/compact",
    ],
  },
  {
    about: "what webhooks have received",
    allowed: OWNER,
    routes: [
      "DELETE /webhooks/samples/:mapping",
      "GET /webhooks",
      "GET /webhooks/deliveries",
      "GET /webhooks/deliveries/:id",
      "GET /webhooks/samples/:mapping",
      "GET /webhooks/tail",
      "POST /webhooks/deliveries/:id/replay",
      "POST /webhooks/samples/:mapping",
      "POST /webhooks/test",
    ],
  },
  {
    about: "MCP and nodes",
    allowed: OWNER,
    routes: ["DELETE /mcp", "GET /mcp", "GET /mcp/servers", "GET /nodes", "POST /mcp"],
  },
  {
    about: "channels, metrics, descriptions",
    allowed: OWNER,
    routes: [
      "GET /channels",
      "GET /metrics",
      "GET /openapi.json",
      "GET /providers",
      "POST /channels/:name/test",
    ],
  },
  {
    about: "the dashboard's own data",
    allowed: OWNER,
    routes: [
      "GET /dashboard/browser/profiles",
      "GET /dashboard/browser/screenshot",
      "GET /dashboard/browser/tabs",
      "GET /dashboard/channels",
      "POST /dashboard/browser/start",
      "POST /dashboard/browser/stop",
    ],
  },
  {
    about: "browser control",
    allowed: OWNER,
    routes: [
      "DELETE browser:/profiles/:name",
      "DELETE browser:/tabs/:targetId",
      "GET browser:/",
      "GET browser:/console",
      "GET browser:/cookies",
      "GET browser:/errors",
      "GET browser:/extension",
      "GET browser:/extension/pair",
      "GET browser:/profiles",
      "GET browser:/requests",
      "GET browser:/snapshot",
      "GET browser:/storage/:kind",
      "GET browser:/tabs",
      "POST browser:/act",
      "POST browser:/cookies/clear",
      "POST browser:/cookies/set",
      "POST browser:/download",
      "POST browser:/highlight",
      "POST browser:/hooks/dialog",
      "POST browser:/hooks/file-chooser",
      "POST browser:/navigate",
      "POST browser:/pdf",
      "POST browser:/profiles/create",
      "POST browser:/reset-profile",
      "POST browser:/response/body",
      "POST browser:/screenshot",
      "POST browser:/set/credentials",
      "POST browser:/set/device",
      "POST browser:/set/geolocation",
      "POST browser:/set/headers",
      "POST browser:/set/locale",
      "POST browser:/set/media",
      "POST browser:/set/offline",
      "POST browser:/set/permissions",
      "POST browser:/set/timezone",
      "POST browser:/start",
      "POST browser:/state/load",
      "POST browser:/state/save",
      "POST browser:/stop",
      "POST browser:/storage/:kind/clear",
      "POST browser:/storage/:kind/set",
      "POST browser:/tabs/focus",
      "POST browser:/tabs/open",
      "POST browser:/trace/start",
      "POST browser:/trace/stop",
      "POST browser:/wait/download",
    ],
  },
  {
    about: "the relay of the browser extension, which takes a pairing token of its own",
    allowed: [],
    routes: [
      "GET relay:/json",
      "GET relay:/json/list",
      "GET relay:/json/version",
      "POST relay:/extension/check",
    ],
  },
];
