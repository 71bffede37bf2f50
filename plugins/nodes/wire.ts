/**
 * The protocol between gateway and node over one WebSocket. Each text frame holds one JSON message. Each binary frame holds
 * a part of a file: the request's id (4 bytes), the stream's number within it (2 bytes), then the content. A frame without
 * content ends the stream.
 */
import { compile, type Static, timerMs, Type } from "portico";
import type { BrowserRequest } from "portico/browser";

/** The version of the protocol. It increases when an older side would misunderstand a newer one. */
export const PROTOCOL = 1;
export const PATH = "/nodes/connect";
export const HEADER = {
  protocol: "x-portico-node-protocol",
  name: "x-portico-node-name",
  /**
   * Generated once per home. A node that reconnects replaces its old connection; another node with the same name cannot.
   */
  identity: "x-portico-node-id",
};
export const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,62}$/u;

/** The maximum size of a JSON message, and of an answer in bytes that is not a file. */
export const MAX_MESSAGE = 64 * 1024 * 1024;
export const CHUNK = 128 * 1024;
/** The longest silence within a transfer, in ms. */
export const STALL_MS = 30_000;

const Text = Type.String();
const Id = Type.Integer({ minimum: 1, maximum: 0xffff_ffff });
const Size = Type.Integer({ minimum: 0 });
const Json = Type.Record(Text, Type.Unknown());

const FileHead = Type.Object({
  at: Type.Array(Type.Union([Text, Type.Integer({ minimum: 0 })]), { maxItems: 8 }),
  name: Text,
  size: Size,
});

/** The location of a file's path in a body, such as `["actions", 2, "paths", 0]`. */
export type JsonPath = (string | number)[];
export type FileHead = Static<typeof FileHead>;

const WireError = Type.Object({
  code: Text,
  message: Text,
  status: Type.Number(),
  param: Type.Optional(Text),
  details: Type.Optional(Json),
});
export type WireError = Static<typeof WireError>;

const Hello = Type.Object({
  t: Type.Literal("hello"),
  version: Text,
  platform: Text,
  browser: Type.Boolean(),
  /** The gateway drops entries that are not strings. */
  profiles: Type.Unsafe<string[]>(Type.Array(Type.Unknown())),
});
export type Hello = Static<typeof Hello>;

const ToNode = Type.Union([
  Type.Object({
    t: Type.Literal("welcome"),
    version: Text,
    heartbeatMs: timerMs({}),
    maxFileBytes: Size,
  }),
  Type.Object({
    t: Type.Literal("request"),
    id: Id,
    request: Type.Unsafe<BrowserRequest>(
      Type.Object({ method: Text, route: Text, body: Type.Optional(Json) }),
    ),
    orDefaultProfile: Type.Boolean(),
    files: Type.Array(FileHead),
  }),
  /** Confirms that the gateway has stored the answer's file. */
  Type.Object({ t: Type.Literal("received"), id: Id }),
  Type.Object({ t: Type.Literal("cancel"), id: Id }),
]);
export type ToNode = Static<typeof ToNode>;

const FromNode = Type.Union([
  Hello,
  Type.Object({
    t: Type.Literal("answer"),
    id: Id,
    body: Json,
    files: Type.Array(FileHead, { maxItems: 16 }),
  }),
  /** Announces an answer in bytes instead of JSON. The bytes follow as stream 0. */
  Type.Object({ t: Type.Literal("bytes"), id: Id, type: Text, size: Size }),
  Type.Object({ t: Type.Literal("error"), id: Id, error: WireError }),
  Type.Object({ t: Type.Literal("navigated"), profile: Text, targetId: Text, url: Text }),
]);
export type FromNode = Static<typeof FromNode>;

/** The messages that each side may send. `parse` throws for any other. */
export const checkToNode = compile(ToNode);
export const checkFromNode = compile(FromNode);

export function packChunk(id: number, stream: number, content: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(6 + content.length);
  frame.writeUInt32BE(id, 0);
  frame.writeUInt16BE(stream, 4);
  frame.set(content, 6);
  return frame;
}

export interface Chunk {
  id: number;
  stream: number;
  content: Buffer;
}

export function unpackChunk(frame: Buffer): Chunk {
  if (frame.length < 6) throw new Error("a binary frame is too short for its header");
  return { id: frame.readUInt32BE(0), stream: frame.readUInt16BE(4), content: frame.subarray(6) };
}

/** Returns the value at `at`, or undefined if the path does not exist. Reads only own properties. */
export function valueAt(root: unknown, at: JsonPath): unknown {
  let value = root;
  for (const step of at) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Replaces the value at an existing path. */
export function setAt(root: unknown, at: JsonPath, value: unknown): void {
  const holder = valueAt(root, at.slice(0, -1));
  const last = at.at(-1);
  if (
    last === undefined ||
    typeof holder !== "object" ||
    holder === null ||
    !Object.hasOwn(holder, last)
  )
    return;
  (holder as Record<string | number, unknown>)[last] = value;
}

interface FileRule {
  at: JsonPath;
  dir: string;
  /** The caller may choose the path. */
  wanted: boolean;
  /** The file's name on the node, for routes that require one. */
  name?: string;
}

/**
 * Routes that answer with a file: the location of its path in the body, and the file's directory below the temporary root.
 */
export const FILE_RESPONSES: Readonly<Record<string, FileRule>> = {
  "POST /screenshot": { at: ["path"], dir: "screenshots", wanted: false },
  "GET /snapshot": { at: ["path"], dir: "screenshots", wanted: false },
  "POST /pdf": { at: ["path"], dir: "pdf", wanted: false },
  "POST /download": { at: ["download", "path"], dir: "downloads", wanted: true },
  "POST /wait/download": { at: ["download", "path"], dir: "downloads", wanted: true },
  "POST /trace/stop": { at: ["path"], dir: "", wanted: true },
  "POST /state/save": { at: ["path"], dir: "", wanted: true, name: "state.json" },
};

/** Returns every location in a request's body that holds the path of an upload. */
export function uploadPaths({ route, body }: BrowserRequest): JsonPath[] {
  if (body === undefined) return [];
  if (route === "/state/load") return typeof body["path"] === "string" ? [["path"]] : [];
  if (route === "/hooks/file-chooser") return listPaths(body, ["paths"]);
  if (route !== "/act") return [];
  const actions = valueAt(body, ["actions"]);
  const nested = Array.isArray(actions)
    ? actions.flatMap((_, at) => listPaths(body, ["actions", at, "paths"]))
    : [];
  return [...listPaths(body, ["paths"]), ...nested];
}

function listPaths(body: unknown, at: JsonPath): JsonPath[] {
  const paths = valueAt(body, at);
  return Array.isArray(paths)
    ? paths.flatMap((path, i) => (typeof path === "string" ? [[...at, i]] : []))
    : [];
}
