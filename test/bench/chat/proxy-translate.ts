/**
 * Translations of the reference proxy for other formats' streams: it finds the text in the bytes, and copies it unchanged.
 */
import { chunk, DONE } from "./raw-streams.ts";

export interface Translation {
  path: string;
  /** Translates a request to the format. */
  request(body: string): string;
  /** Returns a function that translates the bytes of one stream. */
  createTranslator(): (bytes: Buffer) => Buffer;
}

const QUOTE = 34;
const BACKSLASH = 92;
const [chunkPrefix = "", chunkSuffix = ""] = chunk({ content: "%" }).split("%");
const DONE_BYTES = Buffer.from(chunk({}, "stop") + DONE);

/** The translations by the upstream's format. */
export const translations: Record<string, Translation | undefined> = {
  anthropic: {
    path: "/v1/messages",
    request: (body) => JSON.stringify({ max_tokens: 4096, ...(JSON.parse(body) as object) }),
    createTranslator: () =>
      createScanner({
        event: "\n\n",
        text: '"text_delta","text":"',
        last: '"type":"message_stop"',
      }),
  },
  gemini: {
    path: "/v1beta/models/bench-model:streamGenerateContent?alt=sse",
    request(body) {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      return JSON.stringify({
        contents: messages.map(({ content }) => ({ role: "user", parts: [{ text: content }] })),
      });
    },
    createTranslator: () =>
      createScanner({ event: "\r\n\r\n", text: '"text":"', last: '"finishReason"' }),
  },
};

/** Creates a translator. `event` ends an event, `text` precedes its text, and only the last event contains `last`. */
function createScanner({
  event,
  text,
  last,
}: {
  event: string;
  text: string;
  last: string;
}): (bytes: Buffer) => Buffer {
  const [ending, key] = [Buffer.from(event), Buffer.from(text)];
  const [head, tail] = [Buffer.from(chunkPrefix), Buffer.from(chunkSuffix)];
  let incompleteEvent: Buffer | undefined;
  return (chunk) => {
    const bytes = incompleteEvent === undefined ? chunk : Buffer.concat([incompleteEvent, chunk]);
    const out: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(ending); end !== -1; end = bytes.indexOf(ending, at)) {
      const [from, to] = findString(key, bytes, at, end);
      if (to > from) out.push(head, bytes.subarray(from, to), tail);
      else if (bytes.subarray(at, end).includes(last)) out.push(DONE_BYTES);
      at = end + ending.length;
    }
    incompleteEvent = at === bytes.length ? undefined : bytes.subarray(at);
    return Buffer.concat(out);
  };
}

/** Returns the range of the JSON string after `key`, or an empty range if there is none. */
function findString(key: Buffer, bytes: Buffer, at: number, end: number): [number, number] {
  const place = bytes.indexOf(key, at);
  if (place === -1 || place > end) return [end, end];
  const from = place + key.length;
  let quote = from;
  while (quote < end && bytes[quote] !== QUOTE) quote += bytes[quote] === BACKSLASH ? 2 : 1;
  return [from, quote];
}
