import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { exactJson } from "portico";
import { commandFor, type CommandIO, defineCommand } from "portico/command-line";
import { shortIds } from "portico/store";
import { managementRoutes } from "./routes-schema.ts";

interface Listing {
  enabled: boolean;
  path: string;
  warning?: string;
  credentials: string[];
  endpoints: string[];
  refused: Record<string, string>;
  mappings: {
    name: string;
    path: string;
    action: string;
    credential: string;
    match: string[];
    delivery: string;
  }[];
}
interface DeliveryView {
  id: string;
  at: string;
  source: string;
  outcome: string;
  itemId?: string;
  status?: number;
  address?: string;
  credential?: string;
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  error?: { code: string; message: string };
  missing?: string[];
  reason?: Reason;
  replayOf?: string;
  payload?: string | null;
}
interface Reason {
  path: string;
  expected: unknown;
  actual?: unknown;
}
interface ReplayResult {
  deliveryId: string;
  action: string;
  eventId?: string;
  turnId?: string;
}
interface TestResult {
  source: string;
  action: string;
  session?: string;
  task?: string;
  text?: string;
  missing: string[];
  nearest: Record<string, string>;
  outcome?: string;
  reason?: Reason;
}

const describeReason = ({ path, expected, actual }: Reason): string =>
  `${path} must be ${JSON.stringify(expected)}, but ${actual === undefined ? "is missing" : `is ${JSON.stringify(actual)}`}`;

const delivery = {
  name: "delivery",
  description: "The id of the delivery, or the beginning or end of the id",
};

function parsePairs(values: unknown, option: string): Record<string, string> {
  return Object.fromEntries(
    ((values as string[] | undefined) ?? []).map((text) => {
      const pair = /^([^:=\s]+)\s*[:=]\s*(.*)$/.exec(text);
      if (!pair) throw new Error(`--${option} takes NAME: VALUE, not "${text}".`);
      return [pair[1] as string, pair[2] as string];
    }),
  );
}

/** Returns the body of the options. Without one, the gateway uses the mapping's sample. */
function readBody(io: CommandIO): unknown {
  const { file, body } = io.options;
  if (file === undefined && body === undefined) return undefined;
  if (file !== undefined && body !== undefined)
    throw new Error("Pass either --body JSON or --file FILE.");
  const text = file === undefined ? String(body) : readFileSync(String(file), "utf8");
  try {
    return exactJson.parse(text);
  } catch {
    throw new Error(`${file === undefined ? "--body" : String(file)} is not JSON.`);
  }
}

function describeLine({
  at,
  id,
  source,
  outcome,
  status,
  itemId,
  replayOf,
  error,
}: DeliveryView): string {
  const replay = replayOf ? `replay of ${replayOf}` : "";
  const why = error ? ` (${error.message})` : "";
  return [at, id, source, outcome, status ?? "", itemId ?? "", replay, why].join("  ").trimEnd();
}

function describeDelivery(delivery: DeliveryView): string[] {
  return [
    `${delivery.id}  ${delivery.outcome}${delivery.status === undefined ? "" : ` (${delivery.status})`}`,
    `at          ${delivery.at}`,
    `request     ${delivery.method} ${delivery.path}`,
    `from        ${delivery.address}${delivery.credential ? ` with ${delivery.credential}` : ""}`,
    ...(delivery.itemId ? [`became      ${delivery.itemId}`] : []),
    ...(delivery.replayOf ? [`replay of   ${delivery.replayOf}`] : []),
    ...(delivery.error ? [`error       ${delivery.error.code}: ${delivery.error.message}`] : []),
    ...(delivery.missing?.length ? [`no value    ${delivery.missing.join(" ")}`] : []),
    ...(delivery.reason ? [`skipped     ${describeReason(delivery.reason)}`] : []),
    ...Object.entries(delivery.query ?? {}).map(([name, value]) => `query       ${name}=${value}`),
    ...Object.entries(delivery.headers ?? {}).map(
      ([name, value]) => `header      ${name}: ${value}`,
    ),
    "",
    delivery.payload ?? "(the body was not stored)",
  ];
}

const list = commandFor<Listing>("GET /webhooks", managementRoutes.list, {
  name: "list",
  summary: "List the endpoints and mappings",
  view: (listing, io) => [
    `webhooks are ${listing.enabled ? "on" : "off"} at ${listing.path}; credentials: ${listing.credentials.join(", ") || "no token"}`,
    ...(listing.warning ? [`warning: ${listing.warning}`] : []),
    ...Object.values(listing.refused).map((problem) => `not in use: ${problem}`),
    ...listing.endpoints,
    ...io.table(
      ["MAPPING", "PATH", "ACTION", "NEEDS", "DELIVERY", "MATCHES ON"],
      listing.mappings.map(({ name, path, action, credential, delivery: to, match }) => [
        name,
        path,
        action,
        credential,
        to,
        match.join(" "),
      ]),
    ),
  ],
});

const deliveries = commandFor<{ deliveries: DeliveryView[] }>(
  "GET /webhooks/deliveries",
  managementRoutes.deliveries,
  {
    name: "deliveries",
    summary: "List the received deliveries, newest first",
    options: {
      source: {
        value: "NAME",
        description: "Only deliveries of this source: wake, agent, or the name of a mapping",
      },
      outcome: { description: "Only deliveries with this outcome" },
      before: { value: "DATE", description: "Only deliveries before this date" },
    },
    view(listing, io) {
      const ids = shortIds(listing.deliveries.map(({ id }) => id));
      const items = shortIds(listing.deliveries.map(({ itemId = "-" }) => itemId));
      return io.table(
        ["ID", "AT", "SOURCE", "OUTCOME", "STATUS", "BECAME", "FROM"],
        listing.deliveries.map((delivery, index) => [
          ids[index],
          delivery.at,
          delivery.source,
          delivery.outcome,
          delivery.status ?? "-",
          items[index],
          delivery.credential ?? delivery.address ?? "-",
        ]),
      );
    },
  },
);

/** This command is not derived from its route, because it prints an endless stream. */
const tail = defineCommand({
  name: "tail",
  summary: "Print deliveries as they arrive, until you press Ctrl-C",
  async run(io) {
    const bytes = await io.gateway.stream("GET", "/webhooks/tail");
    for await (const line of createInterface({ input: Readable.from(bytes) })) {
      if (!line.startsWith("data: ")) continue;
      const delivery = JSON.parse(line.slice("data: ".length)) as DeliveryView;
      // With --json, too, each delivery is one line, since the stream is endless.
      io.print(io.json ? JSON.stringify(delivery) : describeLine(delivery));
    }
  },
});

const catchSample = commandFor<{ mapping: string; paths: string[] }>(
  "POST /webhooks/samples/:mapping",
  managementRoutes.catchSample,
  {
    name: "catch",
    summary:
      "Store the next request to a mapping as its sample, for `webhooks test` and for checking placeholders",
    args: [{ name: "mapping", description: "The name of the mapping" }],
    options: {
      any: {
        description: "Accept any request, even one that does not match, such as a sender's ping",
      },
      timeout: {
        value: "SECONDS",
        description: "How long to wait, in seconds, at most 3600 (default: 600)",
      },
    },
    progress: ({ args, options }) =>
      options["any"] === true
        ? `waiting for any request to the mapping ${args["mapping"]}`
        : `waiting for a request that matches the mapping ${args["mapping"]} (--any: for any request)`,
    view: ({ mapping, paths }) => [
      `stored as the sample of ${mapping}; templates can use these placeholders:`,
      ...paths.map((path) => `  {${path}}`),
    ],
  },
);

const show = commandFor<DeliveryView>("GET /webhooks/deliveries/:id", managementRoutes.delivery, {
  name: "show",
  summary: "Show a delivery with its headers and body, secrets masked",
  args: [delivery],
  view: describeDelivery,
});

const replay = commandFor<ReplayResult>(
  "POST /webhooks/deliveries/:id/replay",
  managementRoutes.replay,
  {
    name: "replay",
    summary: "Replay a delivery with the current mappings",
    args: [delivery],
    view: ({ deliveryId, turnId, eventId }) =>
      `${deliveryId}: started ${turnId ?? eventId ?? "nothing (the mapping does not match, or its transform dropped the request)"}`,
  },
);

const test = commandFor<TestResult>("POST /webhooks/test", managementRoutes.test, {
  name: "test",
  summary: "Show what a request would start, without starting anything",
  description:
    "The gateway runs the transform as for a real delivery, but queues nothing and requires no signature.",
  args: [
    {
      name: "path",
      description:
        "The path below the webhooks' base path: wake, agent, or the name of a mapping (default: the first mapping that matches)",
      optional: true,
    },
  ],
  options: {
    body: { type: "string", value: "JSON", description: "The body of the request" },
    file: { type: "string", value: "FILE", description: "A file that contains the body" },
    header: { type: "list", value: "NAME: VALUE", description: "A header; may be repeated" },
    query: {
      type: "list",
      value: "NAME=VALUE",
      description: "A query parameter; may be repeated",
    },
  },
  members: (io) => ({
    path: io.args["path"] ?? "",
    headers: parsePairs(io.options["header"], "header"),
    query: parsePairs(io.options["query"], "query"),
    body: readBody(io),
  }),
  view: describeTest,
});

export default defineCommand({
  name: "webhooks",
  summary: "List, test and replay webhooks, which are events from other systems",
  examples: [
    "portico webhooks deliveries --outcome unauthorized",
    "portico webhooks replay 7585e9",
    `portico webhooks test github --header "X-GitHub-Event: issues" --body '{"action":"opened"}'`,
  ],
  commands: [list, deliveries, tail, catchSample, show, replay, test],
});

function describeTest(result: TestResult): string[] {
  const { source, action, session, task, text, missing, nearest } = result;
  return [
    `${source} → ${action}${session ? ` in the session ${session}` : ""}`,
    ...describeSkip(result),
    ...missing.map((name) => {
      const near = nearest[name];
      return `no value for ${name}${near ? `: did you mean {${near}}?` : ""}`;
    }),
    ...(task ? ["", task, "", "as data from outside:", text ?? ""] : []),
  ];
}

/** Returns the line that says why the request would start nothing. */
function describeSkip({ outcome, reason }: TestResult): string[] {
  if (!outcome) return [];
  return [
    reason
      ? `skipped: ${describeReason(reason)}`
      : "skipped: the mapping's transform drops the request",
  ];
}
