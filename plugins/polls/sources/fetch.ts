/** Fetches a source with conditional requests, within the limits of the egress guard. */
import { type GuardedResponse, guardedFetch, retryAfterMs } from "portico/egress";
import { refuseErrors } from "./graphql.ts";
import {
  type ReadResult,
  type ReadRequest,
  CheckFailed,
  createFieldMissingError,
  type SourceContent,
  type Validators,
} from "./source.ts";

const ACCEPT: Record<string, string> = {
  json: "application/json, */*;q=0.5",
  feed: "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5",
  html: "text/html, application/xhtml+xml, */*;q=0.5",
  http: "*/*",
};

export interface FetchedSource {
  /** The final address, after all redirects. */
  url: string;
  body: Buffer;
  contentType: string;
  /**
   * True if a length or chunks delimited the body. Otherwise, the end of the connection did, which may be premature.
   */
  isFramed: boolean;
  status?: number;
  validators?: Validators;
}

/**
 * Fetches a source and converts it with `read`; a 304 is `unchanged`. Throws `CheckFailed` if it cannot be fetched or
 * read.
 */
export async function fetchSource(
  request: ReadRequest,
  read: (fetched: FetchedSource) => SourceContent | Promise<SourceContent>,
): Promise<ReadResult> {
  const fetched = request.source.browser ? await renderPage(request) : await fetchBody(request);
  if (fetched === "unchanged") return { content: { kind: "unchanged" }, status: 304, bytes: 0 };
  const { validators, status, body } = fetched;
  refuseErrors(request.source, body);
  return { content: await read(fetched), validators, status, bytes: body.length };
}

async function renderPage(request: ReadRequest): Promise<FetchedSource> {
  const { html, ...rest } = await (await import("./browser.ts")).renderPage(request);
  return {
    body: Buffer.from(html),
    contentType: "text/html; charset=utf-8",
    isFramed: true,
    ...rest,
  };
}

/**
 * Returns the request for a source. A body that is not a string is sent as JSON. The default method is POST with a
 * body, else GET.
 */
function requestOf(
  { kind, method, body, headers }: ReadRequest["source"],
  validators: Validators | undefined,
) {
  const isJson = body !== undefined && typeof body !== "string";
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    body: isJson ? JSON.stringify(body) : body,
    headers: {
      accept: ACCEPT[kind]!,
      ...(isJson && { "content-type": "application/json" }),
      ...(validators?.etag && { "if-none-match": validators.etag }),
      ...(validators?.lastModified && { "if-modified-since": validators.lastModified }),
      ...lowerCaseNames(headers),
    },
  };
}

const lowerCaseNames = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * Returns the response, or `unchanged` for a 304. Throws `CheckFailed` for any other status than 2xx, and for an empty
 * body.
 */
async function fetchBody(request: ReadRequest): Promise<FetchedSource | "unchanged"> {
  const { source, guard, validators, timeoutMs, maxBytes, signal } = request;
  const { url, kind } = source;
  if (url === undefined) throw createFieldMissingError("url", kind);
  const usableValidators = validators?.url === url ? validators : undefined;
  const httpRequest = requestOf(source, usableValidators);
  const response = await guardedFetch(guard, url, { ...httpRequest, timeoutMs, maxBytes, signal });
  const { status, headers, body } = response;
  if (status === 304) {
    if (!("if-none-match" in httpRequest.headers || "if-modified-since" in httpRequest.headers))
      throw new CheckFailed(
        "The server responded with 304 (not modified) to an unconditional request.",
        {
          status,
        },
      );
    return "unchanged";
  }
  if (status < 200 || status > 299)
    throw new CheckFailed(`The server responded with status ${status}.`, {
      status,
      retryAfterMs: retryAfterMs(headers["retry-after"]),
    });
  if (status === 206 && !("range" in httpRequest.headers))
    throw new CheckFailed(
      "The server responded with a part of the document (206), although the request was for the whole document.",
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
