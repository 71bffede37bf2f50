/** Fetches a source under the guard, conditionally. */
import { type GuardedResponse, guardedFetch, retryAfterMs } from "portico/egress";
import { refuseErrors } from "./graphql.ts";
import {
  type ReadResult,
  type ReadRequest,
  CheckFailed,
  fieldMissing,
  type SourceContent,
  type Validators,
} from "./source.ts";

const ACCEPT: Record<string, string> = {
  json: "application/json, */*;q=0.5",
  feed: "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5",
  html: "text/html, application/xhtml+xml, */*;q=0.5",
  http: "*/*",
};

export interface Fetched {
  /** Where it came from, behind all redirects. */
  url: string;
  body: Buffer;
  contentType: string;
  /** A length or chunks said where the body ends; else the end of the connection had to do. */
  isFramed: boolean;
  status?: number;
  validators?: Validators;
}

/** What `read` makes of the source's body; a 304 is `unchanged`. Throws `CheckFailed` where it cannot be had or read. */
export async function fetchSource(
  request: ReadRequest,
  read: (fetched: Fetched) => SourceContent | Promise<SourceContent>,
): Promise<ReadResult> {
  const fetched = request.source.browser ? await renderPage(request) : await fetchBody(request);
  if (fetched === "unchanged") return { content: { kind: "unchanged" }, status: 304, bytes: 0 };
  const { validators, status, body } = fetched;
  refuseErrors(request.source, body);
  return { content: await read(fetched), validators, status, bytes: body.length };
}

async function renderPage(request: ReadRequest): Promise<Fetched> {
  const { html, ...reached } = await (await import("./browser.ts")).renderedPage(request);
  return {
    body: Buffer.from(html),
    contentType: "text/html; charset=utf-8",
    isFramed: true,
    ...reached,
  };
}

/** The request of a source. A body that is no text is sent as JSON, and makes it a POST where no method is given. */
function requestOf(
  { kind, method, body, headers }: ReadRequest["source"],
  known: Validators | undefined,
) {
  const isJson = body !== undefined && typeof body !== "string";
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    body: isJson ? JSON.stringify(body) : body,
    headers: {
      accept: ACCEPT[kind]!,
      ...(isJson && { "content-type": "application/json" }),
      ...(known?.etag && { "if-none-match": known.etag }),
      ...(known?.lastModified && { "if-modified-since": known.lastModified }),
      ...lowerCased(headers),
    },
  };
}

const lowerCased = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** The body, or `unchanged` for a 304. Every other status than 2xx, and an empty body, is a `CheckFailed`. */
async function fetchBody(request: ReadRequest): Promise<Fetched | "unchanged"> {
  const { source, guard, validators, timeoutMs, maxBytes, signal } = request;
  const { url, kind } = source;
  if (url === undefined) throw fieldMissing("url", kind);
  const known = validators?.url === url ? validators : undefined;
  const wanted = requestOf(source, known);
  const response = await guardedFetch(guard, url, { ...wanted, timeoutMs, maxBytes, signal });
  const { status, headers, body } = response;
  if (status === 304) {
    if (!("if-none-match" in wanted.headers || "if-modified-since" in wanted.headers))
      throw new CheckFailed("The server responded with 304 to a request without a condition.", {
        status,
      });
    return "unchanged";
  }
  if (status < 200 || status > 299)
    throw new CheckFailed(`The server answered ${status}.`, {
      status,
      retryAfterMs: retryAfterMs(headers["retry-after"]),
    });
  if (status === 206 && !("range" in wanted.headers))
    throw new CheckFailed(
      "The server answered with a part of the document (206), although the request was for the whole document.",
      { status },
    );
  if (body.length === 0) throw new CheckFailed("The response is empty.", { status });
  return {
    body,
    status,
    url: response.url,
    contentType: headers["content-type"] ?? "",
    isFramed: isFramed(response),
    validators: { url, etag: headers["etag"], lastModified: headers["last-modified"] },
  };
}

const isFramed = ({ headers }: GuardedResponse): boolean =>
  headers["content-length"] !== undefined || /chunked/i.test(headers["transfer-encoding"] ?? "");
