/** The record of one request: its story, and its HTTP part. */
import type { EndedRequest } from "portico";
import type { Failure, RequestStory } from "portico/models";

export interface Entry {
  /** The number of the request among those of this process. */
  readonly number: number;
  readonly endedAt: number;
  readonly bytes: number;
  readonly requestId: string;
  /** Absent if the request was refused before it was read. */
  readonly story: RequestStory | undefined;
  /** Absent if the request did not come over HTTP. */
  readonly http: HttpPart | undefined;
}

export interface HttpPart {
  readonly method: string;
  readonly path: string;
  readonly address: string;
  readonly status: number;
  readonly ms: number;
  readonly cut: boolean;
  /** The client: its kind, and the name of its key if it has one. */
  readonly client: EndedRequest["client"];
  readonly error: Refusal | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

interface Refusal extends Failure {
  /** The limit that refused the request, such as `requestsPerMinute` or `budget`. */
  limit: string | undefined;
}

/** The memory of a record, and of each of its attempts and hooks: measured and rounded up. */
const BASE_BYTES = 1200;
const TRY_BYTES = 250;
const HOOK_BYTES = 300;
const LONGEST_PATH = 500;

export function httpPart(request: EndedRequest): HttpPart {
  const { method, path, address, status, ms, cut, client, error } = request;
  const refusal = error && {
    code: error.code,
    message: error.message.slice(0, 1000),
    limit: error.limit,
  };
  const headers = ownHeaders(request.headers());
  return {
    method,
    path: path.slice(0, LONGEST_PATH),
    address,
    status,
    ms,
    cut,
    client,
    error: refusal,
    headers,
  };
}

/** Returns the headers that describe the request. */
function ownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name in headers) if (isOwn(name)) own[name] = headers[name]!;
  return own;
}

export function isOwn(header: string): boolean {
  return /^(?:x-(?!content-type-options)|retry-after$)/i.test(header);
}

/** Estimates the memory that an entry takes. */
export function sizeOf(story: RequestStory | undefined, contentBytes: number): number {
  const tries = (story?.tries.length ?? 0) * TRY_BYTES;
  const hooks = (story?.hooks.length ?? 0) * HOOK_BYTES;
  return BASE_BYTES + tries + hooks + contentBytes;
}
