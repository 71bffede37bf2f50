/** `portico/static-files`: serves the files of a directory, under a strict content security policy for our own pages. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { reply } from "portico";
import { errors } from "./errors.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

/** The policy allows only our own scripts and styles, no frames, no forms, and no conversion of text to markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
  // Browsers cache a file but revalidate it each time, so that an update appears at once.
  "cache-control": "no-cache",
};

/** Higher qualities take many times as long and save only a few per cent. */
const BROTLI_QUALITY = 5;

/** The encodings of a response, in order of preference: the one with the smallest results first. */
const ENCODINGS: readonly { name: string; compress: (body: Buffer) => Buffer }[] = [
  {
    name: "br",
    compress: (body) =>
      brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  },
  { name: "gzip", compress: (body) => gzipSync(body) },
];

export interface StaticFiles {
  /**
   * Returns 200 with the file, compressed if the client accepts brotli or gzip, or 304 if the client has the file. Throws
   * `not_found` if there is no such file.
   */
  answer(name: string, request: IncomingHttpHeaders): ReturnType<typeof reply>;
}

interface StaticFile {
  body: Buffer;
  /** The compressed bodies by encoding, created at first use. Absent for files that compression does not make smaller. */
  compressed?: Map<string, Buffer>;
  headers: Record<string, string>;
}

export interface StaticFilesOptions {
  /** Text to append to a file, by file name: an `export` turns a plain script into a module. */
  endings?: Readonly<Record<string, string>>;
}

/**
 * Lists the files below `root` once, and reads each at its first request. A path from a client never reaches the disk.
 * Throws if the directory cannot be read.
 */
export function openStaticFiles(
  root: string,
  { endings = {} }: StaticFilesOptions = {},
): StaticFiles {
  const names = new Set(
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .map((name) => name.replaceAll("\\", "/"))
      .filter((name) => extname(name) in TYPES),
  );
  const files = new Map<string, StaticFile>();

  function loadFile(name: string): StaticFile {
    if (!names.has(name)) throw errors.noSuchPage();
    let file = files.get(name);
    if (!file) {
      file = readStaticFile(join(root, name), endings[name] ?? "");
      files.set(name, file);
    }
    return file;
  }

  return {
    answer(name, request) {
      const file = loadFile(name);
      const { headers } = file;
      const tags = (request["if-none-match"] ?? "").split(",");
      const isCurrent = tags.some((tag) => tag.trim().replace(/^W\//, "") === headers["etag"]);
      if (isCurrent) return reply(304, undefined, headers);
      const accepted = String(request["accept-encoding"] ?? "");
      const encoding = ENCODINGS.find((candidate) => isAccepted(candidate.name, accepted));
      const { compressed } = file;
      if (!compressed || !encoding) return reply(200, file.body, headers);
      const body = compressed.get(encoding.name) ?? encoding.compress(file.body);
      compressed.set(encoding.name, body);
      return reply(200, body, { ...headers, "content-encoding": encoding.name });
    },
  };
}

/** True if the header `Accept-Encoding` names the encoding with a weight other than 0. */
function isAccepted(name: string, header: string): boolean {
  return header.split(",").some((part) => {
    const [encoding = "", ...parameters] = part.split(";").map((text) => text.trim());
    return encoding === name && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function readStaticFile(path: string, ending: string): StaticFile {
  const body = Buffer.concat([readFileSync(path), Buffer.from(ending)]);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const type = TYPES[extname(path)] as string;
  const headers = { ...HEADERS, etag, "content-type": type, vary: "accept-encoding" };
  const isText = !/^image\/png/.test(type);
  return isText ? { body, headers, compressed: new Map() } : { body, headers };
}
