/** What the reference proxy makes of other formats' streams: it looks for the text in the bytes and copies it as it stands. */
import { chunk, DONE } from "./raw-streams.ts";

export interface Translation {
  path: string;
  /** The request in that format. */
  request(body: string): string;
  /** For one stream. */
  reading(): (bytes: Buffer) => Buffer;
}

const QUOTE = 34;
const BACKSLASH = 92;
const [before = "", behind = ""] = chunk({ content: "%" }).split("%");
const DONE_BYTES = Buffer.from(chunk({}, "stop") + DONE);

/** By the upstream's format. */
export const translations: Record<string, Translation | undefined> = {
  anthropic: {
    path: "/v1/messages",
    request: (body) => JSON.stringify({ max_tokens: 4096, ...(JSON.parse(body) as object) }),
    reading: () =>
      scanning({ event: "\n\n", text: '"text_delta","text":"', last: '"type":"message_stop"' }),
  },
  gemini: {
    path: "/v1beta/models/bench-model:streamGenerateContent?alt=sse",
    request(body) {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      return JSON.stringify({
        contents: messages.map(({ content }) => ({ role: "user", parts: [{ text: content }] })),
      });
    },
    reading: () => scanning({ event: "\r\n\r\n", text: '"text":"', last: '"finishReason"' }),
  },
};

/** What ends an event, what stands before a text, and what only the last event has. */
function scanning({
  event,
  text,
  last,
}: {
  event: string;
  text: string;
  last: string;
}): (bytes: Buffer) => Buffer {
  const [ending, key] = [Buffer.from(event), Buffer.from(text)];
  const [head, tail] = [Buffer.from(before), Buffer.from(behind)];
  let held: Buffer | undefined;
  return (given) => {
    const bytes = held === undefined ? given : Buffer.concat([held, given]);
    const out: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(ending); end !== -1; end = bytes.indexOf(ending, at)) {
      const [from, to] = stringBehind(key, bytes, at, end);
      if (to > from) out.push(head, bytes.subarray(from, to), tail);
      else if (bytes.subarray(at, end).includes(last)) out.push(DONE_BYTES);
      at = end + ending.length;
    }
    held = at === bytes.length ? undefined : bytes.subarray(at);
    return Buffer.concat(out);
  };
}

/** From where to where the JSON string goes whose beginning stands behind `key`; an empty range where there is none. */
function stringBehind(key: Buffer, bytes: Buffer, at: number, end: number): [number, number] {
  const place = bytes.indexOf(key, at);
  if (place === -1 || place > end) return [end, end];
  const from = place + key.length;
  let quote = from;
  while (quote < end && bytes[quote] !== QUOTE) quote += bytes[quote] === BACKSLASH ? 2 : 1;
  return [from, quote];
}
