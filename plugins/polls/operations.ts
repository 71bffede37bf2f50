import { compile, type PluginContext, PorticoError, type Principal, principalNamed } from "portico";
import type { Grant } from "portico/agent";
import { mergePatch } from "portico/schedules";
import { type PollEntries, SETTINGS } from "./entries.ts";
import {
  type Cursor,
  KIND,
  type Poll,
  type PollBody,
  placeOf,
  principalOfPoll,
  viewCheck,
  viewPoll,
} from "./poll.ts";
import type { PollRunner } from "./checking/runner.ts";
import { NewPoll, PollChange } from "./schema.ts";
import { CheckFailed } from "./sources/source.ts";
import { render } from "./checking/template.ts";

const REMOVABLE = [...SETTINGS, "payload", "fireOnFirst"] as const;

interface OperationsOptions {
  ctx: PluginContext;
  entries: PollEntries;
  runner: PollRunner;
}

/** A session that the payload names as it stands: one that items fill in is named by strangers. */
function sessionsOf({ payload }: PollBody): string[] {
  const session = payload.kind === "agentTurn" ? payload.session : undefined;
  return session === undefined || session.includes("{") ? [] : [session];
}

/** What the routes, the agent's tool and the command line all do. */
export function createOperations({ ctx, entries, runner }: OperationsOptions) {
  const newPoll = compile(NewPoll);
  const pollChange = compile(PollChange);

  /** What a check would find and send; nothing is kept and nothing is sent. */
  async function dryRun(name: string, body: PollBody, cursor: Cursor | undefined) {
    const checked = await runner.look(body, cursor).catch((error: Error) => {
      if (error instanceof CheckFailed)
        throw new PorticoError("upstream_error", error.message, { status: 502, cause: error });
      throw error;
    });
    const { sample, text, diff, listed, news } = checked;
    const example =
      news[0] ??
      sample.at(-1) ??
      (text === undefined ? undefined : { text: text.slice(0, 2_000), url: placeOf(body.source) });
    const values = {
      item: example,
      url: placeOf(body.source),
      count: news.length,
      name,
      id: "",
      diff: diff ?? "",
    };
    const { payload } = body;
    const template =
      payload.kind === "systemEvent"
        ? payload.text
        : payload.kind === "agentTurn"
          ? payload.message
          : payload.event;
    return {
      status: checked.status,
      count: news.length,
      listed,
      httpStatus: checked.httpStatus,
      bytes: checked.bytes,
      news: news.slice(0, 20),
      sample: sample.slice(-5),
      text: text?.slice(0, 2_000),
      diff,
      wouldSend: example === undefined ? null : render(template, values),
    };
  }

  const view = (poll: Poll) => viewPoll(ctx, poll);

  return {
    list: async () => ({ polls: (await entries.list()).map(view) }),
    failing: entries.failing,
    /** What the polls of a name grant to their turns. Only the owner says which tools a poll has. */
    async grants(name: string): Promise<Grant[]> {
      const all = await entries.list();
      return all
        .filter((poll) => principalOfPoll(poll) === principalNamed("poll", name))
        .map(({ body }) => ({ tools: body.tools, sessions: sessionsOf(body) }));
    },
    show: async (id: string) => view(await entries.find(id)),
    add: async (given: unknown, origin: "api" | "agent", createdBy: Principal) =>
      view(await entries.add(newPoll.parse(given), origin, createdBy)),
    async change(id: string, given: unknown, by: "api" | "agent" = "api") {
      const { poll, rebaselined } = await entries.change(
        id,
        mergePatch(pollChange.parse, given, REMOVABLE),
        by,
      );
      return {
        ...view(poll),
        rebaselined: rebaselined || undefined,
        note: rebaselined
          ? "The source is another now: the next check sets a new baseline."
          : undefined,
      };
    },
    switch: async (id: string, status: "enabled" | "disabled") =>
      view((await entries.change(id, { status })).poll),
    /** Removes what a principal watches. The next holder of its name is somebody else. */
    async removeAllOf(principal: Principal) {
      const all = await entries.list();
      const theirs = all.filter(({ body }) => body.createdBy === principal);
      for (const { row } of theirs) await entries.remove(row.id);
    },
    async remove(id: string) {
      const { row } = await entries.remove(id);
      return { ok: true, id: row.id, name: row.name };
    },
    async run(id: string) {
      const result = await runner.runNow(() => entries.find(id));
      if (result === undefined)
        throw new PorticoError(
          "conflict",
          "This poll has been in a check for a minute: try again.",
        );
      return { ok: result.status !== "error", ...result };
    },
    async test(given: unknown) {
      const poll = newPoll.parse(given);
      return dryRun(
        poll.name ?? "test",
        entries.bodyOf(poll, { origin: "api" }, ctx.use("store").now()),
        undefined,
      );
    },
    async testExisting(id: string) {
      const { row, body } = await entries.find(id);
      const cursor = (await ctx.use("store").schedules.cursor(KIND, row.id)) as Cursor | undefined;
      // Without a condition: a 304 would show nothing.
      const { validators: _, ...unconditional } = cursor ?? {};
      return dryRun(row.name ?? row.id, body, cursor ? (unconditional as Cursor) : undefined);
    },
    runs: async (id: string, limit = 20) => ({ runs: await entries.history(id, limit, viewCheck) }),
  };
}
export type Operations = ReturnType<typeof createOperations>;
