/** The actions of `portico browser` on a page. */
import type { Command, CommandIO, RouteArgument, RouteOption } from "portico/command-line";
import {
  browserCommand,
  commonMembers,
  flag,
  jsonOption,
  number,
  numberArgument,
  REF,
  TAB,
  text,
} from "./command.ts";

interface ActView {
  url: string;
  result?: unknown;
  snapshot?: string;
  dialogs?: { type: string; message: string; handled: string }[];
}
interface DownloadView {
  download: { path: string; bytes: number };
}
interface Action {
  /** The kind. Default: the name of the command. */
  kind?: string;
  summary: string;
  args?: readonly RouteArgument[];
  options?: Record<string, RouteOption>;
  examples?: readonly string[];
}

/** Creates a command for a kind of `/act`. */
function action(name: string, { kind = name, ...definition }: Action): Command {
  return browserCommand<ActView>("POST /act", {
    ...definition,
    name,
    constants: { kind },
    options: {
      ...definition.options,
      snapshot: {
        ...flag("Also print a new snapshot in efficient mode"),
        read: (isSet: boolean) => (isSet ? "efficient" : undefined),
      },
      ...TAB,
    },
    view: actLines,
  });
}

const typingOptions = {
  submit: flag("Press Enter afterwards"),
  slowly: flag("Type one key at a time"),
};

const click = action("click", {
  summary: "Click an element, or a position on the page",
  args: [{ ...REF, optional: true }],
  options: {
    x: number("The distance from the left edge of the element, or of the page", "PX"),
    y: number("The distance from the top edge of the element, or of the page", "PX"),
    double: { ...flag("Double-click"), member: "doubleClick" },
    button: {
      type: "string",
      choices: ["left", "right", "middle"],
      description: "The mouse button (default: left)",
    },
    modifiers: {
      ...text(
        "The modifier keys to hold during the click, separated by commas: Shift,Control",
        "KEYS",
      ),
      read: (keys: string) => keys.split(","),
    },
  },
});

const drag = action("drag", {
  summary: "Drag one element onto another",
  args: [
    { name: "from", member: "startRef" },
    { name: "to", member: "endRef" },
  ],
  options: {
    hold: {
      ...number("How many milliseconds to hold the element before moving it", "MS"),
      member: "holdMs",
    },
  },
});

const wait = action("wait", {
  summary: "Wait until a condition is met",
  options: {
    text: text("Wait until this text is on the page"),
    "text-gone": { ...text("Wait until this text is no longer on the page"), member: "textGone" },
    url: text(
      "Wait until the page's address contains this string, or matches it as a pattern with *",
      "ADDRESS",
    ),
    load: {
      member: "loadState",
      type: "string",
      choices: ["load", "domcontentloaded", "networkidle"],
      description: "Wait until the page has reached this load state",
    },
    fn: text("Wait until this JavaScript expression is true", "JS"),
    time: { ...number("Wait for this many milliseconds", "MS"), member: "timeMs" },
  },
});

const batch = action("batch", {
  summary: "Perform several actions in order",
  options: {
    actions: jsonOption("actions", 'The actions, as a JSON list of {"kind", …}'),
    "keep-going": {
      ...flag("Continue after a failed action"),
      member: "stopOnError",
      read: (isSet: boolean) => (isSet ? false : undefined),
    },
  },
});

const upload = browserCommand("POST /hooks/file-chooser", {
  name: "upload",
  summary: "Upload files to a page, with a file input or the next file chooser",
  args: [
    {
      name: "files",
      member: "paths",
      description: "The files to upload, which must be in <tmp>/portico/uploads",
      rest: true,
    },
  ],
  options: { ...TAB, ref: { value: "REF" } },
});

const dialog = browserCommand("POST /hooks/dialog", {
  name: "dialog",
  summary: "Set how the next dialog will be answered",
  options: {
    ...TAB,
    accept: flag("Accept the dialog"),
    dismiss: flag("Dismiss the dialog"),
    "prompt-text": { member: "promptText", value: "TEXT" },
  },
  members: dialogMembers,
});

const PATH = {
  name: "path",
  optional: true,
  description: "The name of the file, relative to <tmp>/portico/downloads",
};

const download = browserCommand("POST /download", {
  name: "download",
  summary: "Click an element and save the download that it starts",
  args: [REF, PATH],
  options: TAB,
  view: downloadLine,
});

const waitForDownload = browserCommand("POST /wait/download", {
  name: "waitfordownload",
  summary: "Save the next download",
  args: [PATH],
  options: TAB,
  view: downloadLine,
});

export const actCommands: Command[] = [
  click,
  action("typetext", {
    kind: "type",
    summary: "Type text into the focused element",
    args: [{ name: "text" }],
    options: typingOptions,
  }),
  action("type", {
    summary: "Replace the content of a field with text",
    args: [REF, { name: "text" }],
    options: typingOptions,
  }),
  action("fill", {
    summary: "Fill several fields",
    options: {
      fields: jsonOption("fields", 'The fields, as a JSON list of {"ref", "type", "value"}'),
    },
    examples: [
      `portico browser fill --fields '[{"ref":12,"value":"Ada"},{"ref":14,"type":"checkbox","value":true}]'`,
    ],
  }),
  action("press", {
    summary: "Press a key or a key combination",
    args: [
      { name: "key", description: "The key or key combination, such as Enter, Tab or Control+A" },
    ],
    options: { ref: text("The element that receives the keys", "REF") },
  }),
  action("hover", { summary: "Move the pointer over an element", args: [REF] }),
  action("scrollintoview", {
    kind: "scrollIntoView",
    summary: "Scroll to an element",
    args: [REF],
  }),
  drag,
  action("select", {
    summary: "Select options in a list",
    args: [REF, { name: "values", rest: true }],
  }),
  action("check", { summary: "Check a checkbox", args: [REF] }),
  action("uncheck", { summary: "Uncheck a checkbox", args: [REF] }),
  action("resize", {
    summary: "Change the size of the page",
    args: [numberArgument("width"), numberArgument("height")],
  }),
  wait,
  action("evaluate", {
    summary: "Run JavaScript in the page",
    options: {
      fn: text(
        "A JavaScript function or expression; a function receives the element of --ref",
        "JS",
      ),
      ref: text("The element to pass to the function", "REF"),
    },
  }),
  batch,
  upload,
  dialog,
  download,
  waitForDownload,
];

function actLines({ url, result, snapshot, dialogs = [] }: ActView): string[] {
  const text = typeof result === "string" ? result : JSON.stringify(result, null, 2);
  return [
    ...dialogs.map(
      ({ type, message, handled }) => `The ${type} dialog "${message}" was ${handled}.`,
    ),
    result === undefined ? `Done: ${url}` : text,
    ...(snapshot === undefined ? [] : [snapshot]),
  ];
}

function dialogMembers(io: CommandIO): Record<string, unknown> {
  const { accept = false, dismiss = false, "prompt-text": promptText } = io.options;
  if (accept === dismiss) throw new Error("Pass --accept or --dismiss.");
  return { ...commonMembers(io), accept, promptText };
}

function downloadLine({ download: { path, bytes } }: DownloadView): string {
  return `${path} (${bytes} bytes)`;
}
