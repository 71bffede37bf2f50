/** The operations that the routes and the agent's tool share. */
import { compile, type PluginContext, type Principal, principalNamed } from "portico";
import type { Grant } from "portico/agent";
import { mergePatch } from "portico/schedules";
import type { PollRunner } from "./checking/runner.ts";
import { SETTINGS } from "./definition.ts";
import { runDryRun } from "./dry-run.ts";
import type { PollEntries } from "./entries.ts";
import { errors } from "./errors.ts";
import {
  type Cursor,
  KIND,
  type Poll,
  type PollBody,
  principalOfPoll,
  viewCheck,
  viewPoll,
} from "./poll.ts";
import { NewPoll, PollChange } from "./schema.ts";

const REMOVABLE = [...SETTINGS, "payload", "fireOnFirst"] as const;

export interface OperationsOptions {
  ctx: PluginContext;
  entries: PollEntries;
  runner: PollRunner;
}

export class Operations {
  readonly #ctx: PluginContext;
  readonly #entries: PollEntries;
  readonly #runner: PollRunner;
  readonly #newPoll = compile(NewPoll);
  readonly #pollChange = compile(PollChange);

  constructor({ ctx, entries, runner }: OperationsOptions) {
    this.#ctx = ctx;
    this.#entries = entries;
    this.#runner = runner;
  }

  async list() {
    const all = await this.#entries.schedules.list();
    return { polls: all.map((poll) => this.#view(poll)) };
  }

  /** The polls whose last check failed. */
  failing(): Promise<Poll[]> {
    return this.#entries.schedules.failing();
  }

  /** Returns the rights that the polls of a name grant to their turns. Only the owner can set the tools of a poll. */
  async grants(name: string): Promise<Grant[]> {
    const principal = principalNamed("poll", name);
    const all = await this.#entries.schedules.list();
    return all
      .filter((poll) => principalOfPoll(poll) === principal)
      .map(({ body }) => ({ tools: body.tools, sessions: sessionsOf(body) }));
  }

  async show(id: string) {
    return this.#view(await this.#entries.schedules.find(id));
  }

  async add(body: unknown, origin: "api" | "agent", createdBy: Principal) {
    const definition = this.#newPoll.parse(body);
    await this.#checkModel(definition, createdBy);
    return this.#view(await this.#entries.add(definition, origin, createdBy));
  }

  async change(id: string, patch: unknown, editor: "api" | "agent" = "api") {
    const change = mergePatch(this.#pollChange.parse, patch, REMOVABLE);
    if (change.payload !== undefined) {
      const { body } = await this.#entries.schedules.find(id);
      await this.#checkModel(change, body.createdBy ?? "owner");
    }
    const { poll, rebaselined } = await this.#entries.change(id, change, editor);
    if (!rebaselined) return this.#view(poll);
    const note = "The source has changed, so the next check sets a new baseline.";
    return { ...this.#view(poll), rebaselined, note };
  }

  async switch(id: string, status: "enabled" | "disabled") {
    const { poll } = await this.#entries.change(id, { status });
    return this.#view(poll);
  }

  /** Removes the polls of a principal. A later principal of the same name must not get them. */
  async removeAllOf(principal: Principal): Promise<void> {
    const { schedules } = this.#entries;
    for (const { row, body } of await schedules.list()) {
      if (body.createdBy === principal) await schedules.remove(row.id);
    }
  }

  async remove(id: string) {
    const { row } = await this.#entries.schedules.remove(id);
    return { ok: true, id: row.id, name: row.name };
  }

  async run(id: string) {
    const result = await this.#runner.runNow(() => this.#entries.schedules.find(id));
    if (result === undefined) throw errors.checkRunning();
    return { ok: result.status !== "error", ...result };
  }

  async test(body: unknown) {
    const definition = this.#newPoll.parse(body);
    return runDryRun(this.#runner, {
      name: definition.name ?? "test",
      body: this.#entries.bodyOf(definition, { origin: "api" }, this.#ctx.use("store").now()),
      cursor: undefined,
    });
  }

  async testExisting(id: string) {
    const { row, body } = await this.#entries.schedules.find(id);
    const { schedules } = this.#ctx.use("store");
    const cursor = (await schedules.cursor(KIND, row.id)) as Cursor | undefined;
    return runDryRun(this.#runner, {
      name: row.name ?? row.id,
      body,
      // The request is unconditional, because a 304 response would show nothing.
      cursor: cursor ? { ...cursor, validators: undefined } : undefined,
    });
  }

  async runs(id: string, limit = 20) {
    return { runs: await this.#entries.schedules.history(id, limit, viewCheck) };
  }

  /** Throws 400 if the turns of a poll could use no model. */
  async #checkModel({ payload }: PollChange, createdBy: Principal): Promise<void> {
    if (payload === undefined) return;
    const tools = await this.#ctx.use("schedule").load();
    await tools.checkPayloadModel(tools.readPayload(payload, "payload"), createdBy);
  }

  #view(poll: Poll) {
    return viewPoll(this.#ctx, poll);
  }
}

/**
 * Returns the session that the payload names. Content from outside fills in placeholders, so a template grants no
 * session.
 */
function sessionsOf({ payload }: PollBody): string[] {
  const session = payload.kind === "agentTurn" ? payload.session : undefined;
  return session === undefined || session.includes("{") ? [] : [session];
}
