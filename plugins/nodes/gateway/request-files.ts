/** Files of a request: the uploads that go to the node, and the location on this machine of a file in the answer. */
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

const MAX_FILES = 1000;

export interface PackedRequest {
  /** The request in the form that the node receives. */
  request: BrowserRequest;
  files: FileHead[];
  /** Reads the content of `files[i]`. */
  read(i: number): AsyncIterable<Buffer>;
  /** The location in the answer's body that holds a file's path, for routes that answer with a file. */
  answerPath: JsonPath | undefined;
  /** Opens the sink that stores this file. */
  sink(name: string): Promise<Sink>;
}

/** Checks the files that a request names, as the local control API would, before anything is sent. */
export async function packRequest(
  original: BrowserRequest,
  node: string,
  tmp: string,
  maxFileBytes: number,
  whyProtected?: WhyProtected,
): Promise<PackedRequest> {
  const { path: root } = await ensureTmpRoot(tmp);
  const request = exactJson.copy(original);
  const rule = FILE_RESPONSES[`${original.method} ${original.route}`];
  const dir = join(root, rule?.dir ?? "");
  const requestedPath = rule?.wanted ? takePath(request) : undefined;
  if (requestedPath !== undefined) await confinedPath(dir, requestedPath);
  if (requestedPath !== undefined && rule?.name !== undefined)
    request.body = { ...request.body, path: rule.name };
  const { files, paths } = await packUploads(request, root, maxFileBytes);
  return {
    request,
    files,
    read: (i) => createReadStream(paths[i] as string, { highWaterMark: 256 * 1024 }),
    answerPath: rule?.at,
    async sink(name) {
      const ownName = basename(name);
      if (rule?.wanted) return fileSink(dir, requestedPath ?? plainName(ownName), whyProtected);
      const sink = await fileSink(dir, plainName(`${node}-${ownName}`));
      return { ...sink, end: () => sink.end().finally(() => void thinOut(dir).catch(() => {})) };
    },
  };
}

/**
 * Removes and returns the path that the caller wants for a file. It is valid only on this machine, so the node does not
 * receive it.
 */
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
  const locations = uploadPaths(request);
  if (locations.length > MAX_FILES) {
    throw errors.tooManyFiles({ limit: MAX_FILES }, { param: "paths" });
  }
  const files: FileHead[] = [];
  const paths: string[] = [];
  for (const at of locations) {
    const param = formatPath(at);
    const uploadPath = valueAt(request.body, at) as string;
    const isState = request.route === "/state/load";
    const path = await (isState
      ? existingFile(root, uploadPath)
      : checkUpload(join(root, "uploads"), uploadPath, param));
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

function formatPath([first, ...others]: JsonPath): string {
  const rest = others.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`));
  return `${typeof first === "number" ? `[${first}]` : (first ?? "")}${rest.join("")}`;
}
