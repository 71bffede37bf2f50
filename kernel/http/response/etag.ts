/** What the owner's pages ask for again and again goes out once: after that a 304 says that nothing has changed. */
import { createHash } from "node:crypto";
import type { RequestContext } from "../request/context.ts";
import type { Outgoing } from "./reply.ts";

/** Larger ones are asked for once, and hashing them would hold up others. */
const MOST_BYTES = 1024 * 1024;

/** The response with an ETag, or a 304 where the client has it. Only of the owner's readings; one that has an ETag stays. */
export function unlessKnown(call: RequestContext, response: Outgoing): Outgoing {
  const { method, access, req } = call;
  if (method !== "GET" || access !== "gateway" || !isTagged(call, response)) return response;
  const etag = `"${createHash("sha1").update(response.body).digest("base64url")}"`;
  const headers = { ...response.headers, etag };
  if (!namesTag(req.headers["if-none-match"], etag)) return { ...response, headers };
  return { status: 304, headers, type: undefined, body: "" };
}

function isTagged({ plain }: RequestContext, { status, headers, body }: Outgoing): boolean {
  if (status !== 200 || body.length === 0 || body.length > MOST_BYTES) return false;
  return headers?.["etag"] === undefined && !plain.hasHeader("etag");
}

/** `If-None-Match` compares weakly: RFC 9110, 13.1.2. */
function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => ["*", etag, `W/${etag}`].includes(tag.trim()));
}
