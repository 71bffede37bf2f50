/** Puts the upstream's name of the model into the caller's own bytes, so that they need not be written anew. */
import type { ChatRequest } from "portico/chat";

const KEY = Buffer.from('"model"');

/** The caller's bytes with another model; serialised anew only where the place of the name is not beyond doubt. */
export function sendableBytes(raw: Buffer, request: ChatRequest, model: string): Buffer {
  if (request.model === model) return raw;
  const end = endOfModel(raw, request.model);
  if (end !== -1) return withHead(`${HEAD}${JSON.stringify(model).slice(1, -1)}`, raw, end);
  const at = raw.indexOf(KEY);
  if (at !== -1 && raw.indexOf(KEY, at + KEY.length) === -1) {
    let start = at + KEY.length;
    while (isSpace(raw[start])) start++;
    if (raw[start] === 58) {
      start++;
      while (isSpace(raw[start])) start++;
      const old = Buffer.from(JSON.stringify(request.model));
      if (raw.compare(old, 0, old.length, start, start + old.length) === 0) {
        return Buffer.concat([
          raw.subarray(0, start),
          Buffer.from(JSON.stringify(model)),
          raw.subarray(start + old.length),
        ]);
      }
    }
  }
  return Buffer.from(JSON.stringify({ ...request, model }));
}

const HEAD = '{"model":"';

/** Where the name ends in a body that begins with it, as most clients write theirs; -1 elsewhere. */
function endOfModel(raw: Buffer, name: string): number {
  for (let i = 0; i < HEAD.length; i++) if (raw[i] !== HEAD.charCodeAt(i)) return -1;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    // Only plain characters are written in one way.
    if (code < 32 || code > 126 || code === 34 || code === 92 || raw[HEAD.length + i] !== code) return -1;
  }
  const end = HEAD.length + name.length;
  return raw[end] === 34 ? end : -1;
}

/** The bytes from `end` on, behind another head. */
function withHead(head: string, raw: Buffer, end: number): Buffer {
  const length = Buffer.byteLength(head);
  const out = Buffer.allocUnsafe(length + raw.length - end);
  out.write(head);
  raw.copy(out, length, end);
  return out;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
