/** Puts the upstream's name of the model into the caller's own bytes, so that they need not be written anew. */
import type { ChatRequest } from "portico";

const KEY = Buffer.from('"model"');

/** The caller's bytes with another model; serialised anew only where the place of the name is not beyond doubt. */
export function sendableBytes(raw: Buffer, request: ChatRequest, model: string): Buffer {
  if (request.model === model) return raw;
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

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
