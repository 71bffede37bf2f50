/** Writes the response of a route that goes through: the headers that matter, the bytes as they come, none of our secrets. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call } from "portico";
import type { ChatResponse, Job } from "../job.ts";
import { MaskedStream } from "../secrets/masked-stream.ts";
import type { SecretMask } from "../secrets/secret-mask.ts";
import { errorEvent } from "./ask.ts";
import { traceOf } from "./open.ts";
import { writeStream } from "./write-stream.ts";

/** A text up to here is gone through as a whole; what is larger holds images. */
const HELD_BYTES = 1024 * 1024;

/** Bytes on their way. */
interface Hiding {
  push(bytes: Buffer): Buffer | undefined;
  end(): Buffer | undefined;
}

export async function writeForwarded(call: Call, job: Job, response: ChatResponse, mask: SecretMask): Promise<void> {
  const { res } = call;
  const { stream, headers = {}, completion } = response;
  if (stream === undefined) {
    const body = Buffer.from(JSON.stringify(completion));
    res.writeHead(200, { ...traceOf(job), "content-type": "application/json", "content-length": body.length });
    res.end(body);
    return;
  }
  const type = headers["content-type"] ?? "application/octet-stream";
  const events = type.startsWith("text/event-stream");
  const hiding = mask.watchesContent ? hidingIn(type, mask) : undefined;
  if (!res.destroyed) res.writeHead(200, { ...traceOf(job), ...passedHeaders(headers, type, hiding !== undefined) });
  await writeStream(res, stream, events, {
    write(bytes) {
      const out = hiding === undefined ? bytes : hiding.push(bytes);
      return out === undefined || out.length === 0 || res.write(out);
    },
    end: () => void res.end(hiding?.end()),
    // Whoever reads bytes can only tell from the connection that some are missing.
    fail: (error) => void (events ? res.end(errorEvent(error)) : res.destroy()),
  });
}

function passedHeaders(headers: IncomingHttpHeaders, type: string, mayChange: boolean): Record<string, string> {
  const passed: Record<string, string> = { "content-type": type };
  const { "content-length": length, "content-disposition": disposition, "content-encoding": coding } = headers;
  if (type.startsWith("text/event-stream"))
    Object.assign(passed, { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" });
  else if (length !== undefined && coding === undefined && !mayChange) passed["content-length"] = length;
  if (disposition !== undefined) passed["content-disposition"] = disposition;
  return passed;
}

/** Undefined for what is no text. */
function hidingIn(type: string, mask: SecretMask): Hiding | undefined {
  if (type.startsWith("text/event-stream")) return new MaskedStream(mask);
  return /^(text\/|application\/([\w.+-]*\+)?json)/i.test(type) ? heldText(mask) : undefined;
}

function heldText(mask: SecretMask): Hiding {
  let held: Buffer[] | undefined = [];
  let size = 0;
  return {
    push(bytes) {
      if (held === undefined) return bytes;
      held.push(bytes);
      size += bytes.length;
      if (size <= HELD_BYTES) return undefined;
      const all = Buffer.concat(held);
      held = undefined;
      return all;
    },
    end: () => (held === undefined ? undefined : mask.body(Buffer.concat(held))),
  };
}
