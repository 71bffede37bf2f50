/**
 * `portico hooks events`: the declared events that hooks can handle. It is not derived from a route, since it works without
 * a gateway.
 */
import { didYouMean, type EventOutline } from "portico";
import type { Command } from "portico/command-line";
import { declaredEvents } from "./gateway-or-disk.ts";

export const hookEvents: Command = {
  name: "events",
  summary: "Describe every event: its mode, its fields, what hooks may change, and a sample",
  description:
    "A `notify` event informs hooks and does not wait for them; `change` lets them change fields; `answer` also lets a hook reply or block. The command needs no running gateway.",
  args: [
    { name: "event", description: "The event to describe (default: all events)", optional: true },
  ],
  options: { markdown: { type: "boolean", description: "Print a Markdown table" } },
  examples: ["portico hooks events", "portico hooks events gateway:startup"],
  async run(io) {
    const all = await declaredEvents(io);
    const eventName = io.args["event"];
    if (eventName !== undefined && !Object.hasOwn(all, eventName))
      throw unknownEvent(eventName, Object.keys(all));
    const names = eventName === undefined ? Object.keys(all).sort() : [eventName];
    const events = names.map((name) => viewOf(name, all[name] as EventOutline));
    io.show({ events }, () =>
      io.options["markdown"] === true
        ? formatMarkdown(events)
        : events.flatMap((event) => [
            ...formatEvent(event),
            ...(eventName === undefined ? [""] : []),
          ]),
    );
  },
};

export function unknownEvent(event: string, knownEvents: readonly string[]): Error {
  const suggestion = didYouMean(event, knownEvents);
  return new Error(
    `Nothing emits ${event}.${suggestion ? ` Did you mean ${suggestion}?` : ""} See portico hooks events.`,
  );
}

interface EventView {
  name: string;
  mode: string;
  description: string;
  fields: string[];
  changes: string[];
  effects: string[];
  sample: unknown;
}

function viewOf(
  name: string,
  { mode, description, changes = [], effects, sample }: EventOutline,
): EventView {
  // Undefined fields are left out, as in a gateway's JSON response.
  const fields = Object.entries(sample ?? {}).flatMap(([field, value]) =>
    value === undefined ? [] : [field],
  );
  const allowedEffects = effects ?? (mode === "answer" ? ["reply", "block"] : []);
  return {
    name,
    mode,
    description,
    fields,
    changes: [...changes],
    effects: [...allowedEffects],
    sample,
  };
}

function formatEvent({
  name,
  mode,
  description,
  fields,
  changes,
  effects,
  sample,
}: EventView): string[] {
  const rows = [
    ["Fields", fields.join(", ") || "none"],
    ["May change", changes.join(", ")],
    ["May return", effects.map((effect) => `{ ${effect}: "…" }`).join(" or ")],
    ["Sample", JSON.stringify(sample)],
  ];
  return [
    `${name} (${mode})`,
    `  ${description}`,
    ...rows
      .filter(([, text]) => text)
      .map(([label = "", text]) => `  ${label.padEnd(10)}  ${text}`),
  ];
}

/** Returns the table in the README. */
function formatMarkdown(events: readonly EventView[]): string[] {
  const rows = events.map(({ name, mode, description, fields, changes, effects }) => [
    `\`${name}\``,
    mode,
    description,
    fields.map((field) => `\`${field}\``).join(", "),
    [...changes.map((field) => `change \`${field}\``), ...effects].join(", "),
  ]);
  const head = ["event", "mode", "when", "fields", "a hook may"];
  return [head, head.map(() => "---"), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
  );
}
