import { type CommandIO, defineCommand, type OptionSpec } from "portico";

interface PollView {
  id: string;
  name: string;
  status: string;
  origin: string;
  every?: string;
  schedule?: { kind: string; expr?: string; tz?: string; at?: string };
  source: { kind: string; url?: string; path?: string; items?: string; key?: string; selector?: string };
  payload: { kind: string; text?: string; message?: string; event?: string };
  state: {
    lastCheckAt: string | null;
    lastStatus: string | null;
    lastChangeAt: string | null;
    lastError: string | null;
    consecutiveErrors: number;
    nextCheckAt: string | null;
    checks: number;
    changes: number;
  };
  note?: string;
}
interface CheckView {
  status: string;
  trigger: string;
  startedAt: string;
  durationMs: number;
  httpStatus?: number;
  items?: number;
  count?: number;
  error?: string;
}
interface DryRun {
  status: string;
  listed?: number;
  count: number;
  sample: unknown[];
  text?: string;
  diff?: string;
  wouldSend: string | null;
}

const text = (description: string, value = "TEXT"): OptionSpec => ({ type: "string", value, description });
const KINDS = ["feed", "json", "html", "http", "file"] as const;

const options: Record<string, OptionSpec> = {
  name: text("The poll's name, where it is not given as a word", "NAME"),
  kind: { type: "string", choices: KINDS, description: "What the source is; default feed, with --path file" },
  url: text("Where it is", "URL"),
  path: text("Or a file or directory, below the workspace or one of polls.roots", "PATH"),
  header: { type: "list", value: "NAME:VALUE", description: "A request header; may be given again" },
  items: text("json: where the list is, such as data.items", "PATH"),
  key: text("json: what tells items apart, such as id", "PATH"),
  selector: text("html: which part counts", "CSS"),
  ignore: { type: "list", value: "REGEX", description: "Lines that do not count; may be given again" },
  remove: { type: "list", value: "CSS", description: "html: parts that do not count; may be given again" },
  match: text("file, a directory: only such names", "GLOB"),
  every: text("How often: 30s, 15m, 2h; default 5m", "TIME"),
  cron: text("Or by a cron expression", "EXPR"),
  tz: text("Its time zone", "ZONE"),
  schedule: text('Or a schedule as of a cron job, as one text: "0 9 * * *"'),
  message: text("Starts an agent turn for each new item: {item.title}, {diff}, {url}, {count}, {name}"),
  model: text("Model of the turn", "MODEL"),
  session: text("Session of the turn; default one of its own", "SESSION"),
  announce: { type: "boolean", description: "Posts the turn's answer to the main session" },
  text: text("Or: queues this event for the next heartbeat"),
  now: { type: "boolean", description: "Wakes the agent at once for the event" },
  hook: text("Or: emits this event for hooks", "EVENT"),
  "fire-on-first": { type: "boolean", description: "The first check fires for all that it finds" },
  "max-items": { type: "number", value: "N", description: "Deliveries per check; more become one summary" },
  "allow-private": { type: "boolean", description: "It may reach private addresses, by redirects too" },
  disabled: { type: "boolean", description: "Made, but not switched on" },
};

const poll = { name: "poll", description: "Its id, or its name" };

function sourceOf({ options: given }: CommandIO): Record<string, unknown> | undefined {
  const { url, path, items, key, selector, match } = given;
  const headers = given["header"] as string[] | undefined;
  const [ignore, remove] = [given["ignore"], given["remove"]];
  const parts = { url, path, items, key, selector, match, ignore, remove };
  if (
    Object.values(parts).every((value) => value === undefined) &&
    headers === undefined &&
    given["kind"] === undefined
  )
    return undefined;
  return {
    kind: given["kind"] ?? (path === undefined ? "feed" : "file"),
    ...parts,
    ...(headers === undefined ? {} : { headers: Object.fromEntries(headers.map(header)) }),
  };
}

function header(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 1) throw new Error(`--header takes NAME:VALUE, not ${JSON.stringify(line)}.`);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

function payloadOf({ options: given }: CommandIO): unknown {
  const kinds = ["message", "text", "hook"].filter((kind) => given[kind] !== undefined);
  if (kinds.length > 1) throw new Error(`Give only one of --message, --text and --hook.`);
  if (given["text"] !== undefined)
    return { kind: "systemEvent", text: given["text"], ...(given["now"] ? { mode: "now" } : {}) };
  if (given["hook"] !== undefined) return { kind: "hook", event: given["hook"] };
  if (given["message"] === undefined) return undefined;
  const { message, model, session } = given;
  return { kind: "agentTurn", message, model, session, ...(given["announce"] ? { delivery: "announce" } : {}) };
}

function bodyOf(io: CommandIO, name: string | undefined): Record<string, unknown> {
  const { options: given } = io;
  return {
    name: name ?? given["name"],
    every: given["every"],
    ...(given["cron"] === undefined ? {} : { schedule: { kind: "cron", expr: given["cron"], tz: given["tz"] } }),
    ...(given["schedule"] === undefined ? {} : { schedule: given["schedule"] }),
    source: sourceOf(io),
    payload: payloadOf(io),
    fireOnFirst: given["fire-on-first"],
    maxItems: given["max-items"],
    allowPrivateNetwork: given["allow-private"],
    ...(given["disabled"] ? { status: "disabled" } : {}),
  };
}

const at = (io: CommandIO, tail = ""): string => `/polls/${encodeURIComponent(io.args["poll"] ?? "")}${tail}`;
const when = ({ every, schedule }: PollView): string =>
  every === undefined ? (schedule?.expr ?? schedule?.at ?? "") : `every ${every}`;
const place = ({ source }: PollView): string => source.url ?? source.path ?? "";
const clip = (value: string, chars: number): string => (value.length > chars ? `${value.slice(0, chars - 1)}…` : value);

function details(view: PollView): string[] {
  const { state, source, payload } = view;
  return [
    `${view.name}  (${view.id})`,
    `status      ${view.status}${view.origin === "config" ? ", from the configuration" : ""}`,
    `source      ${source.kind} ${place(view)}`,
    `checks      ${when(view)}, ${state.checks} so far`,
    `does        ${payload.kind}: ${payload.text ?? payload.message ?? payload.event}`,
    `last check  ${state.lastCheckAt ?? "none yet"}${state.lastStatus ? `  ${state.lastStatus}` : ""}`,
    `last change ${state.lastChangeAt ?? "none yet"}`,
    ...(state.lastError ? [`last error  ${state.lastError} (${state.consecutiveErrors} in a row)`] : []),
    ...(state.nextCheckAt ? [`next check  ${state.nextCheckAt}`] : []),
    ...(view.note ? [view.note] : []),
  ];
}

function found(dry: DryRun): string[] {
  const seen =
    dry.text !== undefined
      ? dry.text.split("\n").slice(0, 20)
      : dry.sample.map((item) => clip(JSON.stringify(item), 200));
  return [
    dry.listed === undefined ? "What it sees:" : `${dry.listed} items; the last of them:`,
    ...seen.map((line) => `  ${line}`),
    ...(dry.count > 0 ? [`${dry.count} of them would fire now.`] : []),
    ...(dry.wouldSend === null
      ? []
      : ["A message would read:", ...dry.wouldSend.split("\n").map((line) => `  ${line}`)]),
  ];
}

export default defineCommand({
  name: "polls",
  summary: "Watch feeds, JSON lists, web pages and files for something new",
  examples: [
    'portico polls add releases --url https://example.com/releases.atom --every 15m --message "Tell me about {item.title}"',
    "portico polls add prices --kind json --url https://example.com/api --items data.rows --key id --text 'New: {item.name}'",
    "portico polls test releases",
  ],
  commands: [
    {
      name: "list",
      summary: "All polls",
      run: async (io) =>
        io.show(await io.gateway.request<{ polls: PollView[] }>("GET", "/polls"), ({ polls }) =>
          io.table(
            ["ID", "NAME", "STATUS", "KIND", "SOURCE", "WHEN", "LAST", "CHANGED"],
            polls.map((one) => [
              one.id,
              one.name,
              one.status,
              one.source.kind,
              clip(place(one), 50),
              when(one),
              one.state.lastStatus ?? "-",
              one.state.lastChangeAt ?? "-",
            ]),
          ),
        ),
    },
    {
      name: "add",
      summary: "Add a poll; its first check sets the baseline",
      args: [{ name: "name", description: "What to call it", optional: true }],
      options,
      run: async (io) => {
        const body = bodyOf(io, io.args["name"]);
        if (body["source"] === undefined) throw new Error("Say what to watch: --url URL or --path PATH.");
        io.show(await io.gateway.request<PollView>("POST", "/polls", body), details);
      },
    },
    {
      name: "show",
      summary: "One poll: its source, its last check, its last error",
      args: [poll],
      run: async (io) => io.show(await io.gateway.request<PollView>("GET", at(io)), details),
    },
    {
      name: "edit",
      summary: "Change a poll; what is not given stays",
      args: [poll],
      options,
      run: async (io) => {
        const body = bodyOf(io, undefined);
        if (Object.values(body).every((value) => value === undefined))
          throw new Error("Nothing to change: give an option.");
        const { source } = body as { source?: Record<string, unknown> };
        if (source !== undefined) {
          const before = await io.gateway.request<PollView>("GET", at(io));
          const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined));
          const kept = io.options["kind"] === undefined || io.options["kind"] === before.source.kind;
          body["source"] = kept ? { ...before.source, ...given, kind: before.source.kind } : given;
        }
        io.show(await io.gateway.request<PollView>("PATCH", at(io), body), details);
      },
    },
    {
      name: "enable",
      summary: "Switch a poll on, where it left off",
      args: [poll],
      run: async (io) => io.show(await io.gateway.request<PollView>("POST", at(io, "/enable")), details),
    },
    {
      name: "disable",
      summary: "Switch a poll off; it keeps its place",
      args: [poll],
      run: async (io) =>
        io.show(await io.gateway.request<PollView>("POST", at(io, "/disable")), (one) => `${one.name} is disabled.`),
    },
    {
      name: "run",
      summary: "Check now; its next check stays",
      args: [poll],
      run: async (io) => {
        const result = await io.gateway.request<{ ok: boolean; status: string; count: number; error?: string }>(
          "POST",
          at(io, "/run"),
        );
        io.show(result, ({ status, count }) => (status === "changed" ? `${count} new` : status));
        if (!result.ok) throw new Error(result.error ?? "the check failed");
      },
    },
    {
      name: "test",
      summary: "Show what a check would find and send, without any trace",
      args: [{ ...poll, optional: true }],
      options,
      run: async (io) => {
        const dry =
          io.args["poll"] === undefined
            ? await io.gateway.request<DryRun>("POST", "/polls/test", bodyOf(io, undefined))
            : await io.gateway.request<DryRun>("POST", at(io, "/test"));
        io.show(dry, found);
      },
    },
    {
      name: "runs",
      summary: "The history of a poll's checks",
      args: [poll],
      options: { limit: { type: "number", value: "N", description: "How many, newest first; default 20" } },
      run: async (io) =>
        io.show(
          await io.gateway.request<{ runs: CheckView[] }>("GET", at(io, "/runs"), undefined, {
            query: { limit: io.options["limit"] as number | undefined },
          }),
          ({ runs }) =>
            io.table(
              ["STARTED", "STATUS", "BY", "HTTP", "ITEMS", "NEW", "MS", ""],
              runs.map((run) => [
                run.startedAt,
                run.status,
                run.trigger,
                run.httpStatus ?? "-",
                run.items ?? "-",
                run.count ?? "-",
                run.durationMs,
                clip(run.error ?? "", 60),
              ]),
            ),
        ),
    },
    {
      name: "rm",
      summary: "Remove a poll and its history",
      args: [poll],
      run: async (io) =>
        io.show(await io.gateway.request<{ name: string }>("DELETE", at(io)), ({ name }) => `${name} is removed.`),
    },
  ],
});
