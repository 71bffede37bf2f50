/** Writes the response of a forwarded route: the headers that matter, the bytes unchanged, no secret. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call } from "portico";
import { errorEvent } from "portico/provider";
import type { ChatResponse } from "../../chat-response.ts";
import type { Job } from "../../job.ts";
import { MaskedBytes, MaskedEvents, type SecretMask } from "portico/secrets";
import { beginningOf } from "../../sending/held-beginning.ts";
import type { Endpoint } from "../access.ts";
import { traceOf } from "../open.ts";
import { type Written, writeStream } from "./write-stream.ts";

/** JSON and texts up to here are gone through as a whole, in all writings; what is larger holds images. */
const HELD_BYTES = 1024 * 1024;

/** Masks secrets in bytes that are passed on. */
interface Hiding {
  push(bytes: Buffer): Buffer | undefined;
  end(): Buffer | undefined;
}

export async function writeForwarded(
  { engine, workers }: Endpoint,
  call: Call,
  job: Job,
  response: ChatResponse,
): Promise<void> {
  const mask = engine.masks.all();
  const { res } = call;
  const { bytes, headers = {}, completion } = response;
  if (bytes === undefined) {
    const body = Buffer.from(JSON.stringify(completion));
    res.writeHead(200, {
      ...traceOf(job),
      "content-type": "application/json",
      "content-length": body.length,
    });
    res.end(body);
    return;
  }
  const type = headers["content-type"] ?? "application/octet-stream";
  const events = type.startsWith("text/event-stream");
  const held = !events && isText(type);
  const hiding = mask.watchesContent ? hidingIn(events, held, mask) : undefined;
  const passed = passedHeaders(headers, type, hiding !== undefined && held);
  const source = held ? await beginningOf(bytes, HELD_BYTES) : bytes;
  if (!res.destroyed) res.writeHead(200, { ...traceOf(job), ...mask.value(passed) });
  const hide = (one: Buffer) => (hiding === undefined ? one : (hiding.push(one) ?? NOTHING));
  const written: Written<Buffer> = {
    write: (read) => read.map(hide),
    end: () => hiding?.end(),
    // A client that reads plain bytes can only learn from the connection that some are missing.
    fail: (error) => (events ? errorEvent(error) : undefined),
    error: events ? errorEvent : undefined,
    hasComments: events,
  };
  await writeStream(call, source, written, workers);
}

const NOTHING = Buffer.alloc(0);

function passedHeaders(
  headers: IncomingHttpHeaders,
  type: string,
  mayChange: boolean,
): Record<string, string> {
  const passed: Record<string, string> = { "content-type": type };
  const {
    "content-length": length,
    "content-disposition": disposition,
    "content-encoding": coding,
  } = headers;
  if (type.startsWith("text/event-stream"))
    Object.assign(passed, { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" });
  else if (length !== undefined && coding === undefined && !mayChange)
    passed["content-length"] = length;
  if (disposition !== undefined) passed["content-disposition"] = disposition;
  return passed;
}

function isText(type: string): boolean {
  return /^(text\/|application\/([\w.+-]*\+)?json)/i.test(type);
}

function hidingIn(events: boolean, held: boolean, mask: SecretMask): Hiding {
  if (events) return new MaskedEvents(mask);
  return held ? heldText(mask) : new MaskedBytes(mask);
}

function heldText(mask: SecretMask): Hiding {
  let held: Buffer[] = [];
  let size = 0;
  let large: MaskedBytes | undefined;
  return {
    push(bytes) {
      if (large !== undefined) return large.push(bytes);
      held.push(bytes);
      size += bytes.length;
      if (size <= HELD_BYTES) return undefined;
      const all = Buffer.concat(held);
      held = [];
      large = new MaskedBytes(mask);
      return large.push(all);
    },
    end: () => (large === undefined ? mask.body(Buffer.concat(held)) : large.end()),
  };
}
