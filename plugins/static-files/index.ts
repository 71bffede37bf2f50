/** `portico/static-files`: the files of a directory as responses, under a strict policy for pages of our own. */
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

/** Scripts and styles of our own only, no frames, no forms, and no text that becomes markup. */
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
  // Browsers keep a file, but ask about it each time: an update shows at once.
  "cache-control": "no-cache",
};

/** Higher qualities take many times as long for a few per cent. */
const BROTLI_QUALITY = 5;

/** The encodings of a response, the smallest first. */
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
   * Returns 200 with the file, compressed where the caller takes brotli or gzip, or 304 where it has the file. Throws
   * `not_found`.
   */
  answer(name: string, request: IncomingHttpHeaders): ReturnType<typeof reply>;
}

interface StaticFile {
  body: Buffer;
  /** By encoding, once somebody took it; absent for what compression does not make smaller. */
  compressed?: Map<string, Buffer>;
  headers: Record<string, string>;
}

export interface StaticFilesOptions {
  /** By file name, text that is sent after the file's own: an `export` makes a module of a plain script. */
  endings?: Readonly<Record<string, string>>;
}

/**
 * Lists the files below `root` once; each is read when it is first asked for. No path of a caller reaches the disk.
 * Throws where the directory cannot be read.
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

  function fileOf(name: string): StaticFile {
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
      const file = fileOf(name);
      const { headers } = file;
      const tags = (request["if-none-match"] ?? "").split(",");
      const isKnown = tags.some((tag) => tag.trim().replace(/^W\//, "") === headers["etag"]);
      if (isKnown) return reply(304, undefined, headers);
      const accepted = String(request["accept-encoding"] ?? "");
      const encoding = ENCODINGS.find((each) => isAccepted(each.name, accepted));
      const { compressed } = file;
      if (!compressed || !encoding) return reply(200, file.body, headers);
      const body = compressed.get(encoding.name) ?? encoding.compress(file.body);
      compressed.set(encoding.name, body);
      return reply(200, body, { ...headers, "content-encoding": encoding.name });
    },
  };
}

/** Whether the header `Accept-Encoding` names the encoding without the weight 0. */
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
