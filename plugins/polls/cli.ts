import { type CommandIO, defineCommand, shorten } from "portico";
import { bodyOf, options } from "./cli/options.ts";
import { type CheckView, details, type DryRun, found, place, type PollView, when } from "./cli/views.ts";

const poll = { name: "poll", description: "Its id, or its name" };
const at = (io: CommandIO, tail = ""): string => `/polls/${encodeURIComponent(io.args["poll"] ?? "")}${tail}`;

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
                shorten(run.error ?? "", 60),
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
