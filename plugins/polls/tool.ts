import { type PluginContext, PorticoError, Type } from "portico";
import { asBody, completed, entriesOf, refuseOthersEntry } from "portico/schedules";
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
  id: Type.Optional(Type.String({ description: "id or name; for all but list and add" })),
  name: Type.Optional(Type.String()),
  kind: Type.Optional(
    Type.Union(
      ["http", "json", "feed", "html"].map((kind) => Type.Literal(kind)),
      { description: "What the source is" },
    ),
  ),
  url: Type.Optional(Type.String()),
  items: Type.Optional(Type.String({ description: "json: where the list is" })),
  key: Type.Optional(Type.String({ description: "json: what tells items apart" })),
  selector: Type.Optional(Type.String({ description: "html: which part" })),
  every: Type.Optional(Type.String({ description: "such as 15m" })),
  message: Type.Optional(
    Type.String({
      description: "Starts an agent turn with this task; {item.title}, {diff}, {url}",
    }),
  ),
  text: Type.Optional(
    Type.String({ description: "Or: queues this as an event for the next heartbeat" }),
  ),
});

/** The agent's way to watch something. */
export function addTool(ctx: PluginContext, operations: () => Promise<Operations>): void {
  ctx.tool({
    name: "polls",
    description:
      "Watches feeds, JSON lists and web pages for something new: lists, adds, tests, runs and removes polls.",
    parameters,
    async handler(args, { principal }) {
      const polls = await operations();
      const { action, id, name, every, message, text, kind, url, items, key, selector } = args;
      if (action === "list") return { polls: entriesOf(principal, (await polls.list()).polls) };
      const event = text === undefined ? undefined : { kind: "systemEvent", text };
      const payload = message === undefined ? event : { kind: "agentTurn", message };
      const source = { kind, url, items, key, selector };
      const isSource = Object.values(source).some((value) => value !== undefined);
      const given = asBody({ name, every, payload, source: isSource ? source : undefined });
      if (action === "add") return polls.add(given, "agent", principal);
      if (id === undefined)
        throw new PorticoError("invalid_request_error", `${action} needs id.`, { param: "id" });
      refuseOthersEntry(principal, "poll", await polls.show(id));
      if (action === "show") return polls.show(id);
      if (action === "edit") {
        const before = await polls.show(id);
        const change = completed(given, before);
        return polls.change(
          id,
          asBody({ ...change, source: isSource ? sourceAfter(source, before) : undefined }),
          "agent",
        );
      }
      if (action === "enable") return polls.switch(id, "enabled");
      if (action === "disable") return polls.switch(id, "disabled");
      if (action === "run") return polls.run(id);
      if (action === "test") return polls.testExisting(id);
      if (action === "runs") return polls.runs(id);
      return polls.remove(id);
    },
  });
}

interface GivenSource {
  kind?: string;
  url?: string;
}

/** What is not given stays, but for what goes along to another address: it was meant for the one before. */
function sourceAfter(given: GivenSource, { source }: { source?: unknown }): GivenSource {
  const { kind, url, ...rest } = source as GivenSource;
  const fresh = asBody({ ...given });
  const isSame = [undefined, kind].includes(given.kind) && [undefined, url].includes(given.url);
  return { kind, url, ...(isSame && rest), ...fresh };
}
