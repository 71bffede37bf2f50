/** Puts the upstream's name of the model into the caller's own bytes, so that they need not be written anew. */
import type { ChatRequest } from "portico/chat";

const KEY = Buffer.from('"model"');

/** The caller's bytes with another model; serialised anew only where the place of the name is not beyond doubt. */
export function sendableBytes(raw: Buffer, request: ChatRequest, model: string): Buffer {
  if (request.model === model) return raw;
  const start = startsWithModel(raw, request.model);
  if (start !== -1) return spliced(raw, start, request.model.length, model);
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

/** Where the name stands in a body that begins with it, as most clients write theirs; -1 elsewhere. */
function startsWithModel(raw: Buffer, name: string): number {
  for (let i = 0; i < HEAD.length; i++) if (raw[i] !== HEAD.charCodeAt(i)) return -1;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    // Only plain characters are written in one way.
    if (code < 32 || code > 126 || code === 34 || code === 92 || raw[HEAD.length + i] !== code) return -1;
  }
  return raw[HEAD.length + name.length] === 34 ? HEAD.length : -1;
}

function spliced(raw: Buffer, start: number, length: number, name: string): Buffer {
  const inside = Buffer.from(JSON.stringify(name).slice(1, -1));
  const out = Buffer.allocUnsafe(raw.length - length + inside.length);
  raw.copy(out, 0, 0, start);
  inside.copy(out, start);
  raw.copy(out, start + inside.length, start + length);
  return out;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
