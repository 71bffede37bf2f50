import { type PluginContext, type Static, Type } from "portico";
import { asBody, completeChange, entriesOf, refuseOthersEntry } from "portico/schedules";
import { errors } from "./errors.ts";
import type { Operations } from "./operations.ts";

const actions = [
  "list",
  "add",
  "show",
  "edit",
  "enable",
  "disable",
  "run",
  "test",
  "runs",
  "rm",
] as const;

const parameters = Type.Object({
  action: Type.Union(actions.map((action) => Type.Literal(action))),
  id: Type.Optional(
    Type.String({ description: "The id or name of the poll, for all actions except list and add" }),
  ),
  name: Type.Optional(Type.String()),
  kind: Type.Optional(
    Type.Union(
      ["http", "json", "feed", "html"].map((kind) => Type.Literal(kind)),
      { description: "The kind of source" },
    ),
  ),
  url: Type.Optional(Type.String()),
  items: Type.Optional(Type.String({ description: "For json: the path of the list" })),
  key: Type.Optional(Type.String({ description: "For json: the field that identifies an item" })),
  selector: Type.Optional(
    Type.String({ description: "For html: a CSS selector of the part to watch" }),
  ),
  every: Type.Optional(Type.String({ description: "The interval between checks, such as 15m" })),
  message: Type.Optional(
    Type.String({
      description: "Start an agent turn with this task; placeholders: {item.title}, {diff}, {url}",
    }),
  ),
  text: Type.Optional(
    Type.String({ description: "Queue this text as an event for the next heartbeat" }),
  ),
});

type Arguments = Static<typeof parameters>;

/** An action on one poll. */
type Action = (polls: Operations, id: string, args: Arguments) => Promise<unknown>;

const POLL_ACTIONS: Readonly<Record<Exclude<Arguments["action"], "list" | "add">, Action>> = {
  show: (polls, id) => polls.show(id),
  edit: editPoll,
  enable: (polls, id) => polls.switch(id, "enabled"),
  disable: (polls, id) => polls.switch(id, "disabled"),
  run: (polls, id) => polls.run(id),
  test: (polls, id) => polls.testExisting(id),
  runs: (polls, id) => polls.runs(id),
  rm: (polls, id) => polls.remove(id),
};

/** Adds the tool `polls`, with which the agent watches sources. */
export function addTool(ctx: PluginContext, operations: () => Promise<Operations>): void {
  ctx.tool({
    name: "polls",
    description:
      "Watches feeds, JSON lists and web pages for something new: lists, adds, tests, runs and removes polls.",
    parameters,
    async handler(args, { principal }) {
      const polls = await operations();
      const { action, id } = args;
      if (action === "list") return { polls: entriesOf(principal, (await polls.list()).polls) };
      if (action === "add") return polls.add(definitionOf(args), "agent", principal);
      if (id === undefined) throw errors.idMissing({ action }, { param: "id" });
      refuseOthersEntry(principal, "poll", await polls.show(id));
      return POLL_ACTIONS[action](polls, id, args);
    },
  });
}

async function editPoll(polls: Operations, id: string, args: Arguments): Promise<unknown> {
  const before = await polls.show(id);
  const change = completeChange(definitionOf(args), before);
  const source = sourceOf(args);
  return polls.change(
    id,
    asBody({ ...change, source: source && mergeSource(source, before) }),
    "agent",
  );
}

function definitionOf(args: Arguments): Record<string, unknown> {
  const { name, every } = args;
  return asBody({ name, every, payload: payloadOf(args), source: sourceOf(args) });
}

function payloadOf({ message, text }: Arguments): Record<string, unknown> | undefined {
  if (message !== undefined) return { kind: "agentTurn", message };
  return text === undefined ? undefined : { kind: "systemEvent", text };
}

/** Returns undefined if no argument describes a source. */
function sourceOf({ kind, url, items, key, selector }: Arguments): SourceArguments | undefined {
  const source = { kind, url, items, key, selector };
  return Object.values(source).some((value) => value !== undefined) ? source : undefined;
}

interface SourceArguments {
  kind?: string;
  url?: string;
}

/**
 * Merges changes into a source. The other members stay, unless kind or address change, because they belonged to the
 * previous one.
 */
function mergeSource(changes: SourceArguments, { source }: { source?: unknown }): SourceArguments {
  const { kind, url, ...rest } = source as SourceArguments;
  const changedFields = asBody({ ...changes });
  const isSame = [undefined, kind].includes(changes.kind) && [undefined, url].includes(changes.url);
  return { kind, url, ...(isSame && rest), ...changedFields };
}
