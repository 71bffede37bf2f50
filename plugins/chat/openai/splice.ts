/** Puts the upstream's name of the model into the caller's own bytes, so that they need not be written anew. */
import type { ChatRequest } from "portico/chat";

const KEY = Buffer.from('"model"');

/**
 * The caller's bytes with another model; serialised anew only where the place of the name is not beyond doubt. A string has
 * a byte a character: short bodies leave together with their head, in one string.
 */
export function sendableBytes(raw: Buffer, request: ChatRequest, model: string): Buffer | string {
  const isShort = raw.length <= ONE_STRING_BYTES;
  if (request.model === model) return isShort ? raw.toString("latin1") : raw;
  // as most clients write theirs
  const before = `${HEAD}${request.model}"`;
  if (PLAIN.test(request.model) && PLAIN.test(model) && raw.toString("latin1", 0, before.length) === before) {
    if (isShort) return `${HEAD}${model}"${raw.toString("latin1", before.length)}`;
    return Buffer.concat([Buffer.from(`${HEAD}${model}"`), raw.subarray(before.length)]);
  }
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
/** Written in one way only. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Up to here a copy is cheaper than a second buffer to write. */
const ONE_STRING_BYTES = 16 * 1024;

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
