/** The page's files: read once, at first use, and answered with an ETag. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { PorticoError, reply } from "portico";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
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
  // Kept, but asked about each time: an update shows at once.
  "cache-control": "no-cache",
};

export interface Files {
  /** 200 with the file, or 304 where the caller has it. Throws `not_found`. */
  answer(name: string, ifNoneMatch: string | undefined): ReturnType<typeof reply>;
}

interface File {
  body: Buffer;
  headers: Record<string, string>;
}

/** `dir` is the plugin's own; the files lie in its `page/`. */
export function openFiles(dir: string): Files {
  const root = join(dir, "page");
  // Only what was listed is read: no path of a caller reaches the disk.
  const names = new Set(
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .map((name) => name.replaceAll("\\", "/"))
      .filter((name) => extname(name) in TYPES),
  );
  const files = new Map<string, File>();

  function fileOf(name: string): File {
    if (!names.has(name)) throw new PorticoError("not_found", "The dashboard has no such file.");
    let file = files.get(name);
    if (!file) {
      const body = readFileSync(join(root, name));
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      file = {
        body,
        headers: { ...HEADERS, etag, "content-type": TYPES[extname(name)] as string },
      };
      files.set(name, file);
    }
    return file;
  }

  return {
    answer(name, ifNoneMatch) {
      const { body, headers } = fileOf(name);
      const known = ifNoneMatch
        ?.split(",")
        .some((tag) => tag.trim().replace(/^W\//, "") === headers["etag"]);
      return known ? reply(304, undefined, headers) : reply(200, body, headers);
    },
  };
}
