/** `portico hooks new`. */
import { join } from "node:path";
import { isHookName } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import { editorConfig } from "./editor-config.ts";
import { unknownEvent } from "./hooks-events.ts";
import { declaredEvents, isSamePlace, loadState, findWorkspace } from "./gateway-or-disk.ts";
import { writeHook } from "./hook-template.ts";

export const newHook: Command = {
  name: "new",
  summary: "Create a typed, working hook as a starting point",
  description:
    "The command writes the hook to <home>/hooks/NAME, or with --workspace to <workspace>/hooks/NAME. A running gateway activates the hook at once.",
  args: [
    {
      name: "name",
      description: "The name of the hook: letters, digits, dots, dashes and underscores",
    },
  ],
  options: {
    event: {
      type: "list",
      value: "E",
      description: "An event that the hook handles; may be repeated",
    },
    workspace: { type: "boolean", description: "Write into the workspace instead of the home" },
    js: { type: "boolean", description: "Write plain JavaScript with types in JSDoc" },
    description: {
      type: "string",
      value: "TEXT",
      description: "A one-line description of the hook",
    },
  },
  examples: ["portico hooks new hello --event EVENT"],
  run,
};

async function run(io: CommandIO): Promise<void> {
  const hook = io.args["name"] ?? "";
  if (!isHookName(hook))
    throw new Error(
      `"${hook}" is not a hook name: use letters, digits, dots, dashes and underscores.`,
    );
  const eventNames =
    (io.options["event"] as string[] | undefined)?.flatMap((event) => event.split(",")) ?? [];
  const events = await declaredEvents(io);
  const names = Object.keys(events);
  if (eventNames.length === 0)
    throw new Error(
      `Pass the event that the hook handles: --event E, where E is one of ${names.join(", ")}.`,
    );
  for (const event of eventNames) {
    if (!/^[\w.-]+:[\w.-]+$/.test(event))
      throw new Error(
        `"${event}" is not an event name: events are called noun:verb, such as gateway:startup.`,
      );
    if (!Object.hasOwn(events, event)) throw unknownEvent(event, names);
  }
  const home = io.home();
  const root = join(io.options["workspace"] ? await findWorkspace(io) : home.paths.home, "hooks");
  const script = io.options["js"] === true;
  const dir = writeHook(root, editorConfig(home.paths.package), {
    name: hook,
    events: eventNames.map((name) => ({ name, outline: events[name] })),
    description: io.options["description"] as string | undefined,
    script,
  });
  const registered = await loadState(io, "hooks", hook);
  // a gateway with another home may have a hook of that name
  const ownRecord = registered && isSamePlace(registered.dir, dir) ? registered : undefined;
  const state = ownRecord?.state;
  const tryIt = `portico hooks run ${hook}${eventNames.length > 1 ? ` --event ${eventNames[0]}` : ""}`;
  const activeText = `The hook runs now. Edit its files: a saved change is active at once. Test it: ${tryIt}`;
  const notLoadedText = home.running()
    ? "The gateway that runs from this home activates the hook at once. See portico hooks info."
    : "The hook runs as soon as you start a gateway: portico start.";
  const nextStep = () => {
    if (ownRecord === undefined) return notLoadedText;
    return state === "active"
      ? activeText
      : `The hook does not run: ${ownRecord.error ?? ownRecord.reason ?? state}`;
  };
  io.show({ hook, dir, events: eventNames, state }, () => [
    `Wrote ${join(dir, script ? "handler.js" : "handler.ts")}${state ? ` (${state})` : ""}.`,
    nextStep(),
  ]);
}
