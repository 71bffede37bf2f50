/** Files of a request: what goes to the node with it, and where on this machine that comes to lie which comes back. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { exactJson } from "portico";
import {
  checkUpload,
  confinedPath,
  existingFile,
  ensureTmpRoot,
  type WhyProtected,
  plainName,
  thinOut,
} from "portico/browser";
import { errors } from "../errors.ts";
import { fileSink, type Sink } from "../incoming.ts";
import type { BrowserRequest } from "portico/browser";
import {
  FILE_RESPONSES,
  type FileHead,
  type JsonPath,
  setAt,
  uploadPaths,
  valueAt,
} from "../wire.ts";

const MOST_FILES = 1000;

export interface Packed {
  /** As the node gets it. */
  request: BrowserRequest;
  files: FileHead[];
  /** Content of `files[i]`. */
  read(i: number): AsyncIterable<Buffer>;
  /** Where in the answer the path of a file stands, if there is one. */
  at: JsonPath | undefined;
  /** Takes that file. */
  sink(name: string): Promise<Sink>;
}

/** Checks the files that a request names, as the control API here would, before anything is sent. */
export async function pack(
  given: BrowserRequest,
  node: string,
  tmp: string,
  maxFileBytes: number,
  whyProtected?: WhyProtected,
): Promise<Packed> {
  const { path: root } = await ensureTmpRoot(tmp);
  const request = exactJson.copy(given);
  const rule = FILE_RESPONSES[`${given.method} ${given.route}`];
  const dir = join(root, rule?.dir ?? "");
  const wanted = rule?.wanted ? takePath(request) : undefined;
  if (wanted !== undefined) await confinedPath(dir, wanted);
  if (wanted !== undefined && rule?.name !== undefined)
    request.body = { ...request.body, path: rule.name };
  const { files, paths } = await packUploads(request, root, maxFileBytes);
  return {
    request,
    files,
    read: (i) => createReadStream(paths[i] as string, { highWaterMark: 256 * 1024 }),
    at: rule?.at,
    async sink(name) {
      const own = basename(name);
      if (rule?.wanted) return fileSink(dir, wanted ?? plainName(own), whyProtected);
      const sink = await fileSink(dir, plainName(`${node}-${own}`));
      return { ...sink, end: () => sink.end().finally(() => void thinOut(dir).catch(() => {})) };
    },
  };
}

/** The path that the caller wants for a file is this machine's affair: the node does not see it. */
function takePath(request: BrowserRequest): string | undefined {
  const { body, query } = request as {
    body?: Record<string, unknown>;
    query?: Record<string, string>;
  };
  const path = body?.["path"] ?? query?.["path"];
  if (typeof path !== "string" || path === "") return undefined;
  delete body?.["path"];
  delete query?.["path"];
  return path;
}

async function packUploads(
  request: BrowserRequest,
  root: string,
  maxFileBytes: number,
): Promise<{ files: FileHead[]; paths: string[] }> {
  const places = uploadPaths(request);
  if (places.length > MOST_FILES) {
    throw errors.tooManyFiles({ limit: MOST_FILES }, { param: "paths" });
  }
  const files: FileHead[] = [];
  const paths: string[] = [];
  for (const at of places) {
    const param = spelled(at);
    const named = valueAt(request.body, at) as string;
    const isState = request.route === "/state/load";
    const path = await (isState
      ? existingFile(root, named)
      : checkUpload(join(root, "uploads"), named, param));
    const { size } = await stat(path);
    if (size > maxFileBytes) {
      throw errors.uploadTooLarge({ bytes: size, limit: maxFileBytes }, { param });
    }
    setAt(request.body, at, "");
    files.push({ at, name: plainName(basename(path)), size });
    paths.push(path);
  }
  return { files, paths };
}

function spelled([first, ...others]: JsonPath): string {
  const rest = others.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`));
  return `${typeof first === "number" ? `[${first}]` : (first ?? "")}${rest.join("")}`;
}
