/** `portico/static-files`: the files of a directory as responses, under a strict policy for pages of our own. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
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

export interface StaticFiles {
  /** Returns 200 with the file, compressed where the caller takes gzip, or 304 where it has the file. Throws `not_found`. */
  answer(name: string, request: IncomingHttpHeaders): ReturnType<typeof reply>;
}

interface StaticFile {
  body: Buffer;
  /** Absent for what compression does not make smaller. */
  compressed?: Buffer;
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
      const { body, compressed, headers } = fileOf(name);
      const tags = (request["if-none-match"] ?? "").split(",");
      const isKnown = tags.some((tag) => tag.trim().replace(/^W\//, "") === headers["etag"]);
      if (isKnown) return reply(304, undefined, headers);
      const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(
        String(request["accept-encoding"] ?? ""),
      );
      return compressed && takesGzip
        ? reply(200, compressed, { ...headers, "content-encoding": "gzip" })
        : reply(200, body, headers);
    },
  };
}

function readStaticFile(path: string, ending: string): StaticFile {
  const body = Buffer.concat([readFileSync(path), Buffer.from(ending)]);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const type = TYPES[extname(path)] as string;
  const headers = { ...HEADERS, etag, "content-type": type, vary: "accept-encoding" };
  const isText = !/^image\/png/.test(type);
  return isText ? { body, headers, compressed: gzipSync(body) } : { body, headers };
}
