import { type CommandIO, defineCommand } from "portico/command-line";
import { shorten } from "portico/strings";
import { scheduleCommands, schedulePath, timeText } from "portico/schedules";
import { bodyOf, options } from "./cli/options.ts";
import {
  type CheckView,
  details,
  type DryRun,
  found,
  place,
  type PollView,
  when,
} from "./cli/views.ts";

const polls = { noun: "poll", root: "/polls" };
const poll = { name: "poll", description: "Its id, or its name" };
const { show, edit, enable, disable, runs, rm } = scheduleCommands<PollView, CheckView>({
  ...polls,
  summaries: {
    show: "One poll: its source, its last check, its last error",
    enable: "Switch a poll on, where it left off",
    disable: "Switch a poll off; it keeps its place",
    runs: "The history of a poll's checks",
  },
  options,
  changeOf,
  details,
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
});

/** A source is changed as a whole: what is not given of it comes from the one that is there. */
async function changeOf(io: CommandIO): Promise<Record<string, unknown>> {
  const body = bodyOf(io, undefined);
  const { source } = body as { source?: Record<string, unknown> };
  if (source === undefined) return body;
  const before = await io.gateway.request<PollView>("GET", schedulePath(io, polls));
  const given = Object.fromEntries(
    Object.entries(source).filter(([, value]) => value !== undefined),
  );
  const kept = io.options["kind"] === undefined || io.options["kind"] === before.source.kind;
  return {
    ...body,
    source: kept ? { ...before.source, ...given, kind: before.source.kind } : given,
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
              shorten(place(one), 50),
              when(one),
              one.state.lastStatus ?? "-",
              timeText(one.state.lastChangeAt, one.schedule?.tz),
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
        if (body["source"] === undefined)
          throw new Error("Say what to watch: --url URL or --path PATH.");
        io.show(await io.gateway.request<PollView>("POST", "/polls", body), details);
      },
    },
    show,
    edit,
    enable,
    disable,
    {
      name: "run",
      summary: "Check now; its next check stays",
      args: [poll],
      run: async (io) => {
        const result = await io.gateway.request<{
          ok: boolean;
          status: string;
          count: number;
          error?: string;
        }>("POST", schedulePath(io, polls, "/run"));
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
            : await io.gateway.request<DryRun>("POST", schedulePath(io, polls, "/test"));
        io.show(dry, found);
      },
    },
    runs,
    rm,
  ],
});
