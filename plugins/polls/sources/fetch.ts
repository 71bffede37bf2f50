/** Fetches a source under the guard, conditionally. */
import { guardedFetch } from "portico/egress";
import { type Answered, type Asked, CheckFailed, type Found, needs, type Validators } from "./source.ts";

const ACCEPT: Record<string, string> = {
  json: "application/json, */*;q=0.5",
  feed: "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5",
  html: "text/html, application/xhtml+xml, */*;q=0.5",
  http: "*/*",
};

export interface Fetched {
  body: Buffer;
  contentType: string;
  status: number;
  validators: Validators;
}

function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}

/** What `read` makes of the source's body; a 304 is `unchanged`. Throws `CheckFailed` where it cannot be had or read. */
export async function fetchSource(asked: Asked, read: (fetched: Fetched) => Found): Promise<Answered> {
  const fetched = await fetchBody(asked);
  if (fetched === "unchanged") return { found: { kind: "unchanged" }, status: 304, bytes: 0 };
  const { validators, status, body } = fetched;
  return { found: read(fetched), validators, status, bytes: body.length };
}

/** The body, or `unchanged` for a 304. Every other answer than 2xx, and an empty one, is a `CheckFailed`. */
async function fetchBody({
  source,
  guard,
  validators,
  timeoutMs,
  maxBytes,
  signal,
}: Asked): Promise<Fetched | "unchanged"> {
  const { url, kind } = source;
  if (url === undefined) throw needs("url", kind);
  const known = validators?.url === url ? validators : undefined;
  const answer = await guardedFetch(guard, url, {
    headers: {
      accept: ACCEPT[kind]!,
      ...(known?.etag && { "if-none-match": known.etag }),
      ...(known?.lastModified && { "if-modified-since": known.lastModified }),
      ...source.headers,
    },
    timeoutMs,
    maxBytes,
    signal,
  });
  const { status, headers, body } = answer;
  if (status === 304) {
    if (known === undefined)
      throw new CheckFailed("The server answered 304 to a request without a condition.", { status });
    return "unchanged";
  }
  if (status < 200 || status > 299) {
    const wait = retryAfterMs(headers["retry-after"]);
    throw new CheckFailed(`The server answered ${status}.`, {
      status,
      retryAfterMs: wait,
    });
  }
  if (body.length === 0) throw new CheckFailed("The answer is empty.", { status });
  return {
    body,
    status,
    contentType: headers["content-type"] ?? "",
    validators: {
      url,
      etag: headers["etag"],
      lastModified: headers["last-modified"],
    },
  };
}
