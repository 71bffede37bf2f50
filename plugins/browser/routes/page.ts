/** What is done with a page: looking, acting, files. */
import { Type } from "portico";
import { act } from "../operations/act.ts";
import { highlight, pdf, screenshot } from "../operations/capture.ts";
import { download, waitDownload } from "../operations/downloads.ts";
import { snapshot } from "../operations/snapshot.ts";
import { armDialog, armFileChooser } from "../actions/uploads.ts";
import { Bool, Filled, oneOf, optional, Ref, type Route, route, Text } from "./route.ts";

const Count = Type.Integer({ minimum: 1 });

export const page: Route[] = [
  route(
    "GET",
    "/snapshot",
    {
      format: optional(oneOf("ai", "aria")),
      mode: optional(oneOf("efficient", "full", "default")),
      interactive: optional(Bool),
      compact: optional(Bool),
      depth: optional(Type.Integer({ minimum: 0, maximum: 1000 })),
      selector: optional(Filled),
      frame: optional(Ref),
      labels: optional(Bool),
      limit: optional(Count),
      maxChars: optional(Count),
      diff: optional(Bool),
    },
    { what: "The snapshot", limitMs: 75_000 },
    snapshot,
  ),
  route(
    "POST",
    "/screenshot",
    {
      fullPage: optional(Bool),
      ref: optional(Ref),
      type: optional(oneOf("png", "jpeg")),
      quality: optional(Type.Integer({ minimum: 0, maximum: 100 })),
    },
    { what: "The screenshot" },
    screenshot,
  ),
  route(
    "POST",
    "/pdf",
    { format: optional(Filled), landscape: optional(Bool) },
    { what: "The PDF" },
    pdf,
  ),
  route(
    "POST",
    "/act",
    { kind: optional(Type.Unknown()), snapshot: optional(Type.Unknown()) },
    { what: "The action", limitMs: 120_000 },
    act,
  ),
  route(
    "POST",
    "/hooks/file-chooser",
    { paths: Type.Array(Filled, { minItems: 1, maxItems: 50 }), ref: optional(Ref) },
    { what: "Preparing the upload" },
    armFileChooser,
  ),
  route(
    "POST",
    "/hooks/dialog",
    { accept: Bool, promptText: optional(Text) },
    { what: "Preparing the dialog" },
    armDialog,
  ),
  route(
    "POST",
    "/download",
    { ref: Ref, path: optional(Filled) },
    { what: "The download", limitMs: 150_000 },
    download,
  ),
  route(
    "POST",
    "/wait/download",
    { path: optional(Filled) },
    { what: "The download", limitMs: 150_000 },
    waitDownload,
  ),
  route("POST", "/highlight", { ref: Ref }, { what: "The highlight" }, highlight),
];
