/** Writes the response of a forwarded route: the relevant headers, and the bytes unchanged except for masked secrets. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call } from "portico";
import { errorEvent } from "portico/provider";
import type { ChatResponse } from "../../chat-response.ts";
import type { Job } from "../../job.ts";
import { MaskedBytes, MaskedEvents, type SecretMask } from "portico/secrets";
import { holdBeginning } from "../../sending/held-beginning.ts";
import type { Endpoint } from "../access.ts";
import { traceOf } from "../open.ts";
import { type StreamWriter, writeStream } from "./write-stream.ts";

/** JSON and texts up to this size are masked as a whole, in all encodings of a secret. Larger ones contain images. */
const MAX_HELD_BYTES = 1024 * 1024;

/** Masks secrets in bytes that are passed through. */
interface ByteMask {
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
  const isEventStream = type.startsWith("text/event-stream");
  const isHeld = !isEventStream && isText(type);
  const byteMask = mask.watchesContent ? createMask(isEventStream, isHeld, mask) : undefined;
  const responseHeaders = selectHeaders(headers, type, byteMask !== undefined && isHeld);
  const source = isHeld ? await holdBeginning(bytes, MAX_HELD_BYTES) : bytes;
  if (!res.destroyed) res.writeHead(200, { ...traceOf(job), ...mask.value(responseHeaders) });
  const maskChunk = (chunk: Buffer) =>
    byteMask === undefined ? chunk : (byteMask.push(chunk) ?? NO_BYTES);
  const writer: StreamWriter<Buffer> = {
    write: (chunks) => chunks.map(maskChunk),
    end: () => byteMask?.end(),
    // A client of plain bytes can recognise missing ones only by the closed connection.
    fail: (error) => (isEventStream ? errorEvent(error) : undefined),
    error: isEventStream ? errorEvent : undefined,
    hasComments: isEventStream,
  };
  await writeStream(call, source, writer, workers);
}

const NO_BYTES = Buffer.alloc(0);

function selectHeaders(
  headers: IncomingHttpHeaders,
  type: string,
  mayChange: boolean,
): Record<string, string> {
  const selected: Record<string, string> = { "content-type": type };
  const {
    "content-length": length,
    "content-disposition": disposition,
    "content-encoding": coding,
  } = headers;
  if (type.startsWith("text/event-stream"))
    Object.assign(selected, {
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
  else if (length !== undefined && coding === undefined && !mayChange)
    selected["content-length"] = length;
  if (disposition !== undefined) selected["content-disposition"] = disposition;
  return selected;
}

function isText(type: string): boolean {
  return /^(text\/|application\/([\w.+-]*\+)?json)/i.test(type);
}

function createMask(isEventStream: boolean, isHeld: boolean, mask: SecretMask): ByteMask {
  if (isEventStream) return new MaskedEvents(mask);
  return isHeld ? maskWholeText(mask) : new MaskedBytes(mask);
}

function maskWholeText(mask: SecretMask): ByteMask {
  let chunks: Buffer[] = [];
  let size = 0;
  let large: MaskedBytes | undefined;
  return {
    push(bytes) {
      if (large !== undefined) return large.push(bytes);
      chunks.push(bytes);
      size += bytes.length;
      if (size <= MAX_HELD_BYTES) return undefined;
      const all = Buffer.concat(chunks);
      chunks = [];
      large = new MaskedBytes(mask);
      return large.push(all);
    },
    end: () => (large === undefined ? mask.body(Buffer.concat(chunks)) : large.end()),
  };
}
