/** Declares the routes for a page: snapshots, actions, files. */
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

/** The response is JSON with a path, or the image itself if the caller accepts images. */
const Picture: ResponseDeclarations = {
  200: {
    description: "The image, or the path of the image file.",
    content: {
      "application/json": OfTab,
      "image/png": Type.Unsafe({ type: "string", format: "binary" }),
      "image/jpeg": Type.Unsafe({ type: "string", format: "binary" }),
    },
  },
};

const downloadPath = filled("The name of the file, relative to <tmp>/portico/downloads");

export const page = {
  "GET /snapshot": declare({
    summary: "Show a page as text with refs",
    fields: {
      format: optional(
        choice(["ai", "aria"], {
          description:
            "The format: ai (default), which has refs, or aria, the accessibility tree without refs",
        }),
      ),
      mode: optional(
        choice(["efficient", "full", "default"], {
          description: "efficient: a short snapshot with interactive elements only",
        }),
      ),
      interactive: flag("Show only interactive elements, as a flat list"),
      compact: flag("Leave out nodes that only group other nodes"),
      depth: optional(
        Type.Integer({ minimum: 0, maximum: 1000, description: "The maximum number of levels" }),
      ),
      selector: filled("Show only the subtree of the first element that matches"),
      frame: element("Show only the iframe with this ref or CSS selector"),
      labels: flag("Also take a screenshot with the refs drawn on it"),
      limit: count("The maximum number of nodes"),
      maxChars: count("The maximum number of characters"),
      diff: flag("Show only what changed since the last snapshot"),
    },
    what: "The snapshot",
    limitMs: 75_000,
    response: OfTab,
  }),
  "POST /screenshot": declare({
    summary: "Take a screenshot of a page or an element",
    fields: {
      fullPage: flag("Capture the whole page, not only the visible part"),
      ref: element("Capture only the element with this ref"),
      type: optional(choice(["png", "jpeg"], { description: "The image format (default: png)" })),
      quality: optional(
        Type.Integer({
          minimum: 0,
          maximum: 100,
          description: "The quality of a jpeg image, from 0 to 100",
        }),
      ),
    },
    what: "The screenshot",
    response: Picture,
  }),
  "POST /pdf": declare({
    summary: "Save a page as a PDF",
    fields: {
      format: filled("The paper size: A4 (default), Letter, …"),
      landscape: flag("Use landscape orientation"),
    },
    what: "The PDF",
  }),
  // each kind has its own fields: `actions/kinds.ts` declares them, and the action validates them
  "POST /act": declare({
    summary: "Perform an action on a page, such as a click",
    fields: { kind: optional(Type.Unknown()), snapshot: optional(Type.Unknown()) },
    what: "The action",
    limitMs: 120_000,
    response: Type.Object({
      ok: Type.Boolean({ description: "false if an action of a batch failed" }),
      targetId: Type.String(),
      url: Type.String(),
    }),
  }),
  "POST /hooks/file-chooser": declare({
    summary: "Set the files for the next file chooser",
    fields: {
      paths: Type.Array(Filled, { minItems: 1, maxItems: 50 }),
      ref: element(
        "The file input, or the element that opens the file chooser (default: the next file chooser that opens)",
      ),
    },
    what: "Preparing the upload",
  }),
  "POST /hooks/dialog": declare({
    summary: "Set how the next dialog is answered",
    fields: { accept: Type.Boolean(), promptText: text("The text to enter into a prompt") },
    what: "Preparing the dialog",
  }),
  "POST /download": declare({
    summary: "Click an element and save the download that it starts",
    fields: { ref: Ref, path: downloadPath },
    what: "The download",
    limitMs: 150_000,
  }),
  "POST /wait/download": declare({
    summary: "Wait for the next download and save it",
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
