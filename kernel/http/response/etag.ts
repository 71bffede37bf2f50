/** Adds ETags, so that pages that poll receive a body again only when it has changed, and a 304 otherwise. */
import { createHash } from "node:crypto";
import type { RequestContext } from "../request/context.ts";
import type { Outgoing } from "./reply.ts";

/** Larger bodies are usually requested once, and hashing them would delay other requests. */
const MAX_BYTES = 1024 * 1024;

/**
 * Returns the response with an ETag, or a 304 if the client has that version. Applies to the owner's `GET` requests
 * without an ETag of their own.
 */
export function applyEtag(call: RequestContext, response: Outgoing): Outgoing {
  const { method, access, req } = call;
  if (method !== "GET" || access !== "gateway" || !canHaveEtag(call, response)) return response;
  const etag = `"${createHash("sha1").update(response.body).digest("base64url")}"`;
  const headers = { ...response.headers, etag };
  if (!matchesTag(req.headers["if-none-match"], etag)) return { ...response, headers };
  return { status: 304, headers, type: undefined, body: "" };
}

function canHaveEtag({ plain }: RequestContext, { status, headers, body }: Outgoing): boolean {
  if (status !== 200 || body.length === 0 || body.length > MAX_BYTES) return false;
  return headers?.["etag"] === undefined && !plain.hasHeader("etag");
}

/** `If-None-Match` compares weakly: RFC 9110, 13.1.2. */
function matchesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => ["*", etag, `W/${etag}`].includes(tag.trim()));
}
