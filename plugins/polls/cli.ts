import { commandFor, type CommandIO, defineCommand } from "portico/command-line";
import { shorten } from "portico/strings";
import {
  describeScheduleRoutes,
  scheduleCommands,
  schedulePath,
  timeText,
} from "portico/schedules";
import { bodyOf, options } from "./cli/options.ts";
import {
  type CheckView,
  describePoll,
  type DryRun,
  describeDryRun,
  addressOf,
  type PollView,
  formatTiming,
} from "./cli/views.ts";
import { POLLS } from "./schema.ts";

interface RunResult {
  ok: boolean;
  status: string;
  count: number;
  error?: string;
}

const polls = { noun: "poll", root: "/polls" } as const;
const poll = { name: "poll", description: "The id or the name of the poll" };
const routes = describeScheduleRoutes(POLLS);

const { show, edit, enable, disable, run, runs, rm } = scheduleCommands<
  PollView,
  CheckView,
  RunResult
>({
  ...polls,
  summaries: {
    show: "Show a poll: its source, its last check, its last error",
    enable: "Enable a poll, which then continues where it stopped",
    disable: "Disable a poll without deleting its state",
    run: "Check a poll now without changing when its next check is due",
    runs: "Show the history of a poll's checks",
  },
  options,
  changeOf,
  details: describePoll,
  columns: ["STARTED", "STATUS", "BY", "HTTP", "ITEMS", "NEW", "MS", ""],
  row: (run) => [
    timeText(run.startedAt, run.timezone),
    run.status,
    run.trigger,
    run.httpStatus ?? "-",
    run.items ?? "-",
    run.count ?? "-",
    run.durationMs,
    shorten(run.error ?? "", 60),
  ],
  started: ({ status, count }) => (status === "changed" ? `${count} new` : status),
  startFailure: ({ ok, error }) => (ok ? undefined : (error ?? "the check failed")),
});

const list = commandFor<{ polls: PollView[] }>("GET /polls", routes.list, {
  name: "list",
  summary: "List all polls",
  view: (listing, io) =>
    io.table(
      ["ID", "NAME", "STATUS", "KIND", "SOURCE", "WHEN", "LAST", "CHANGED"],
      listing.polls.map((poll) => [
        poll.id,
        poll.name,
        poll.status,
        poll.source.kind,
        shorten(addressOf(poll), 50),
        formatTiming(poll),
        poll.state.lastStatus ?? "-",
        timeText(poll.state.lastChangeAt, poll.schedule?.tz),
      ]),
    ),
});

const add = commandFor<PollView>("POST /polls", routes.add, {
  name: "add",
  summary: "Add a poll; its first check sets the baseline",
  args: [{ name: "name", description: "The name of the poll", optional: true }],
  options,
  members: buildNewPoll,
  view: describePoll,
});

/** Uses one of two routes: it tests an existing poll, or one that the options describe. */
const test = defineCommand({
  name: "test",
  summary: "Show what a check would find and send, without changing anything",
  args: [{ ...poll, optional: true }],
  options,
  async run(io) {
    const isNew = io.args["poll"] === undefined;
    const path = isNew ? "/polls/test" : schedulePath(io, polls, "/test");
    const body = isNew ? bodyOf(io, undefined) : undefined;
    io.show(await io.gateway.request<DryRun>("POST", path, body), describeDryRun);
  },
});

function buildNewPoll(io: CommandIO): Record<string, unknown> {
  const body = bodyOf(io, io.args["name"]);
  if (body["source"] === undefined)
    throw new Error("The source is missing. Pass --url URL or --path PATH.");
  return body;
}

/** The route replaces a source as a whole, so members that the options leave out come from the existing one. */
async function changeOf(io: CommandIO): Promise<Record<string, unknown>> {
  const body = bodyOf(io, undefined);
  const { source } = body as { source?: Record<string, unknown> };
  if (source === undefined) return body;
  const current = await io.gateway.request<PollView>("GET", schedulePath(io, polls));
  const changes = Object.fromEntries(
    Object.entries(source).filter(([, value]) => value !== undefined),
  );
  const isSameKind = io.options["kind"] === undefined || io.options["kind"] === current.source.kind;
  return {
    ...body,
    source: isSameKind ? { ...current.source, ...changes, kind: current.source.kind } : changes,
  };
}

export default defineCommand({
  name: "polls",
  summary: "Watch feeds, JSON lists, web pages and files for something new",
  examples: [
    'portico polls add releases --url https://example.com/releases.atom --every 15m --message "Tell me about {item.title}"',
    "portico polls add prices --kind json --url https://example.com/api --items data.rows --key id --text 'New: {item.name}'",
    "portico polls test releases",
  ],
  commands: [list, add, show, edit, enable, disable, run, test, runs, rm],
});
