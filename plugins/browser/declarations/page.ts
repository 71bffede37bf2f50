/** What is done with a page: looking, acting, files. */
import { type ResponseDeclarations, Type } from "portico";
import {
  choice,
  count,
  declare,
  element,
  Filled,
  filled,
  flag,
  OfTab,
  optional,
  Ref,
  text,
} from "./declare.ts";

/** Pictures come as JSON with a path, or as themselves where the caller accepts images. */
const Picture: ResponseDeclarations = {
  200: {
    description: "The picture, or the path of its file.",
    content: {
      "application/json": OfTab,
      "image/png": Type.Unsafe({ type: "string", format: "binary" }),
      "image/jpeg": Type.Unsafe({ type: "string", format: "binary" }),
    },
  },
};

const downloadPath = filled("The file's name under <tmp>/portico/downloads");

export const page = {
  "GET /snapshot": declare({
    summary: "What a page shows, as text with refs",
    fields: {
      format: optional(
        choice(["ai", "aria"], {
          description: "ai (default): with refs; aria: the bare accessibility tree",
        }),
      ),
      mode: optional(
        choice(["efficient", "full", "default"], {
          description: "efficient: short, with interactive elements only",
        }),
      ),
      interactive: flag("A flat list of the elements that can be acted on"),
      compact: flag("Leave out nodes that only group others"),
      depth: optional(
        Type.Integer({ minimum: 0, maximum: 1000, description: "At most this many levels" }),
      ),
      selector: filled("Only what is below the first element that matches"),
      frame: element("Only this iframe: its ref, or a CSS selector"),
      labels: flag("Also a screenshot with the refs drawn on it"),
      limit: count("At most this many nodes"),
      maxChars: count("At most this many characters"),
      diff: flag("Only what changed since the last one"),
    },
    what: "The snapshot",
    limitMs: 75_000,
    response: OfTab,
  }),
  "POST /screenshot": declare({
    summary: "A picture of a page or an element",
    fields: {
      fullPage: flag("All of it, not only what is in view"),
      ref: element("Only this element"),
      type: optional(choice(["png", "jpeg"], { description: "Default png" })),
      quality: optional(
        Type.Integer({ minimum: 0, maximum: 100, description: "Of a jpeg, 0 to 100" }),
      ),
    },
    what: "The screenshot",
    response: Picture,
  }),
  "POST /pdf": declare({
    summary: "A page as PDF",
    fields: {
      format: filled("Paper: A4 (default), Letter, …"),
      landscape: flag("Landscape"),
    },
    what: "The PDF",
  }),
  // each kind has fields of its own: `fields.ts` lists them, and the action checks them
  "POST /act": declare({
    summary: "Click, type and other actions on a page",
    fields: { kind: optional(Type.Unknown()), snapshot: optional(Type.Unknown()) },
    what: "The action",
    limitMs: 120_000,
    response: Type.Object({
      ok: Type.Boolean({ description: "false for a batch with an action that failed" }),
      targetId: Type.String(),
      url: Type.String(),
    }),
  }),
  "POST /hooks/file-chooser": declare({
    summary: "Files for the next file chooser",
    fields: {
      paths: Type.Array(Filled, { minItems: 1, maxItems: 50 }),
      ref: element("The file input, or what opens the chooser (default: the next chooser)"),
    },
    what: "Preparing the upload",
  }),
  "POST /hooks/dialog": declare({
    summary: "The answer to the next dialog",
    fields: { accept: Type.Boolean(), promptText: text("The text for a prompt") },
    what: "Preparing the dialog",
  }),
  "POST /download": declare({
    summary: "Download by a click",
    fields: { ref: Ref, path: downloadPath },
    what: "The download",
    limitMs: 150_000,
  }),
  "POST /wait/download": declare({
    summary: "Wait for a download",
    fields: { path: downloadPath },
    what: "The download",
    limitMs: 150_000,
  }),
  "POST /highlight": declare({
    summary: "Highlight an element",
    fields: { ref: Ref },
    what: "The highlight",
    response: OfTab,
  }),
};
