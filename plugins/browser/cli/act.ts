/** `portico browser`: everything that is done to a page. */
import type { Command, CommandIO, OptionSpec } from "portico/command-line";
import {
  command,
  type Definition,
  flag,
  jsonOption,
  number,
  numberArg,
  TAB,
  text,
} from "./command.ts";

const SNAPSHOT: Record<string, OptionSpec> = {
  snapshot: flag("Also print a fresh efficient snapshot"),
};
const REF = { name: "ref", description: "From a snapshot: 12 or e12" };

interface ActView {
  url: string;
  result?: unknown;
  snapshot?: string;
  dialogs?: { type: string; message: string; handled: string }[];
}

function actLines({ url, result, snapshot, dialogs = [] }: ActView): string[] {
  return [
    ...dialogs.map((one) => `${one.type} "${one.message}" was ${one.handled}.`),
    ...(result === undefined
      ? [`Done: ${url}`]
      : [typeof result === "string" ? result : JSON.stringify(result, null, 2)]),
    ...(snapshot === undefined ? [] : [snapshot]),
  ];
}

/** A subcommand that is a kind of `/act`. */
function action(
  name: string,
  kind: string,
  definition: Omit<Definition<ActView>, "name" | "request"> & {
    fields(io: CommandIO): Record<string, unknown>;
  },
): Command {
  return command({
    ...definition,
    name,
    options: { ...definition.options, ...SNAPSHOT, ...TAB },
    human: actLines,
    request: (io) => ({
      method: "POST",
      path: "/act",
      body: {
        kind,
        ...definition.fields(io),
        snapshot: io.options["snapshot"] ? "efficient" : undefined,
      },
    }),
  });
}

const onRef = (name: string, kind: string, summary: string): Command =>
  action(name, kind, { summary, args: [REF], fields: ({ args }) => ({ ref: args["ref"] }) });

const rest = (io: CommandIO): string[] => io.args.rest ?? [];

export const actCommands: Command[] = [
  action("click", "click", {
    summary: "Click an element, or a place of the page",
    args: [{ ...REF, optional: true }],
    options: {
      x: {
        type: "number",
        value: "PX",
        description: "From the left of the element, or of the page",
      },
      y: { type: "number", value: "PX", description: "From the top" },
      double: flag("Twice"),
      button: { type: "string", choices: ["left", "right", "middle"], description: "Default left" },
      modifiers: text("Keys held meanwhile, with commas: Shift,Control", "KEYS"),
    },
    fields: ({ args, options }) => ({
      ref: args["ref"],
      x: options["x"],
      y: options["y"],
      doubleClick: options["double"],
      button: options["button"],
      modifiers:
        options["modifiers"] === undefined ? undefined : String(options["modifiers"]).split(","),
    }),
  }),
  action("typetext", "type", {
    summary: "Type a text where the focus is",
    args: [{ name: "text" }],
    options: { submit: flag("Press Enter afterwards"), slowly: flag("Key by key") },
    fields: ({ args, options }) => ({
      text: args["text"],
      submit: options["submit"],
      slowly: options["slowly"],
    }),
  }),
  action("type", "type", {
    summary: "Type a text into a field, in place of what it holds",
    args: [REF, { name: "text" }],
    options: { submit: flag("Press Enter afterwards"), slowly: flag("Key by key") },
    fields: ({ args, options }) => ({
      ref: args["ref"],
      text: args["text"],
      submit: options["submit"],
      slowly: options["slowly"],
    }),
  }),
  action("fill", "fill", {
    summary: "Fill several fields",
    options: { fields: text('A list of {"ref", "type", "value"}', "JSON") },
    examples: [
      `portico browser fill --fields '[{"ref":12,"value":"Ada"},{"ref":14,"type":"checkbox","value":true}]'`,
    ],
    fields: (io) => ({ fields: jsonOption(io, "fields") }),
  }),
  action("press", "press", {
    summary: "Press a key, or several at once",
    args: [{ name: "key", description: "Enter, Tab, Control+A" }],
    options: { ref: text("In this element", "REF") },
    fields: ({ args, options }) => ({ key: args["key"], ref: options["ref"] }),
  }),
  onRef("hover", "hover", "Move the pointer over an element"),
  onRef("scrollintoview", "scrollIntoView", "Scroll to an element"),
  action("drag", "drag", {
    summary: "Drag one element onto another",
    args: [{ name: "from" }, { name: "to" }],
    options: { hold: number("Hold it so long before moving", "MS") },
    fields: ({ args, options }) => ({
      startRef: args["from"],
      endRef: args["to"],
      holdMs: options["hold"],
    }),
  }),
  action("select", "select", {
    summary: "Choose options of a list",
    args: [REF, { name: "values", rest: true }],
    fields: (io) => ({ ref: io.args["ref"], values: rest(io) }),
  }),
  onRef("check", "check", "Tick a box"),
  onRef("uncheck", "uncheck", "Untick a box"),
  action("resize", "resize", {
    summary: "Change the size of the page",
    args: [{ name: "width" }, { name: "height" }],
    fields: (io) => ({ width: numberArg(io, "width"), height: numberArg(io, "height") }),
  }),
  action("wait", "wait", {
    summary: "Wait until something is so",
    options: {
      text: text("This text is on the page"),
      "text-gone": text("This text is no longer there"),
      url: text("The address is this one, holds this, or fits it with *", "ADDRESS"),
      load: {
        type: "string",
        choices: ["load", "domcontentloaded", "networkidle"],
        description: "The page is loaded that far",
      },
      fn: text("This JavaScript is true", "JS"),
      time: number("So many milliseconds have passed", "MS"),
    },
    fields: ({ options }) => ({
      text: options["text"],
      textGone: options["text-gone"],
      url: options["url"],
      loadState: options["load"],
      fn: options["fn"],
      timeMs: options["time"],
    }),
  }),
  action("evaluate", "evaluate", {
    summary: "Run JavaScript in the page",
    options: {
      fn: text("A function or an expression; gets the element with --ref", "JS"),
      ref: text("The element", "REF"),
    },
    fields: ({ options }) => ({ fn: options["fn"], ref: options["ref"] }),
  }),
  action("batch", "batch", {
    summary: "Several actions, one after the other",
    options: {
      actions: text('A list of {"kind", …}', "JSON"),
      "keep-going": flag("Do not stop at the first that fails"),
    },
    fields: (io) => ({
      actions: jsonOption(io, "actions"),
      stopOnError: io.options["keep-going"] ? false : undefined,
    }),
  }),
  {
    ...command({
      name: "upload",
      summary: "Give files to a page: into an input, or into the next chooser",
      args: [{ name: "files", description: "Under <tmp>/portico/uploads", rest: true }],
      options: {
        ...TAB,
        ref: text(
          "The file input, or what opens the chooser (default: arm the next chooser)",
          "REF",
        ),
      },
      request: (io) => ({
        method: "POST",
        path: "/hooks/file-chooser",
        body: { paths: rest(io), ref: io.options["ref"] },
      }),
    }),
  },
  command({
    name: "dialog",
    summary: "Say beforehand what the next dialog gets",
    options: {
      ...TAB,
      accept: flag("Accept it"),
      dismiss: flag("Dismiss it"),
      "prompt-text": text("What a prompt gets"),
    },
    request: ({ options }) => {
      if (Boolean(options["accept"]) === Boolean(options["dismiss"]))
        throw new Error("Give --accept or --dismiss.");
      return {
        method: "POST",
        path: "/hooks/dialog",
        body: { accept: Boolean(options["accept"]), promptText: options["prompt-text"] },
      };
    },
  }),
  command({
    name: "download",
    summary: "Click an element and save the download that it starts",
    args: [
      REF,
      { name: "path", optional: true, description: "Its name under <tmp>/portico/downloads" },
    ],
    options: TAB,
    request: ({ args }) => ({
      method: "POST",
      path: "/download",
      body: { ref: args["ref"], path: args["path"] },
    }),
    human: downloadLine,
  }),
  command({
    name: "waitfordownload",
    summary: "Save the next download",
    args: [{ name: "path", optional: true, description: "Its name under <tmp>/portico/downloads" }],
    options: TAB,
    request: ({ args }) => ({
      method: "POST",
      path: "/wait/download",
      body: { path: args["path"] },
    }),
    human: downloadLine,
  }),
];

function downloadLine({ download }: { download: { path: string; bytes: number } }): string {
  return `${download.path} (${download.bytes} bytes)`;
}
