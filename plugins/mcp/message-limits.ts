/**
 * Limits the messages of MCP servers. Their values are counted before the protocol's library parses and validates them.
 */
import { deserializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { exactJson, type JsonLimits } from "portico";
import type { Fetch } from "portico/egress";

const LIMITS: JsonLimits = { maxValues: 100_000, maxMembers: 10_000, maxDepth: 100 };

const EXCESS: Readonly<Record<keyof JsonLimits, string>> = {
  maxValues: `holds more than ${LIMITS.maxValues} values`,
  maxMembers: `has an object with more than ${LIMITS.maxMembers} members`,
  maxDepth: `is nested more than ${LIMITS.maxDepth} levels deep`,
};

/** Returns the reason for which a message is refused; undefined if it is within the limits. */
function findExcess(text: string): string | undefined {
  const { broken } = exactJson.scan(text, LIMITS);
  return broken && `The MCP server sent a message that ${EXCESS[broken]}.`;
}

function checkMessage(text: string): void {
  const excess = findExcess(text);
  if (excess !== undefined) throw new Error(excess);
}

/**
 * Wraps `fetch` so that responses are counted: JSON as a whole, a stream event by event. `onRefusedEvent` gets the error of
 * a stream, because the library does not report it.
 */
export function createCountedFetch(fetch: Fetch, onRefusedEvent: (error: Error) => void): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const type = response.headers.get("content-type") ?? "";
    const { status, headers } = response;
    if (/^application\/json\b/i.test(type)) {
      const text = await response.text();
      checkMessage(text);
      return new Response(text, { status, headers });
    }
    if (response.body === null || !/^text\/event-stream\b/i.test(type)) return response;
    return new Response(response.body.pipeThrough(countEvents(onRefusedEvent)), {
      status,
      headers,
    });
  };
}

/** Passes each event on once it is complete and was counted. */
function countEvents(
  onRefusedEvent: (error: Error) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let pending: Buffer[] = [];
  const check = (events: Buffer): void => {
    try {
      for (const event of events.toString("latin1").split(/\r?\n\r?\n/)) checkMessage(event);
    } catch (error) {
      onRefusedEvent(error as Error);
      throw error;
    }
  };
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk);
      const end = findEndOfLastEvent(pending.at(-1)?.subarray(-BLANK_BYTES), bytes);
      if (end === 0) return void pending.push(bytes);
      const events = Buffer.concat([...pending, bytes.subarray(0, end)]);
      pending = [bytes.subarray(end)];
      check(events);
      controller.enqueue(events);
    },
    flush(controller) {
      const rest = Buffer.concat(pending);
      check(rest);
      controller.enqueue(rest);
    },
  });
}

/** The length of the longest blank line without its last byte. The previous chunk may end with that much of it. */
const BLANK_BYTES = 3;

/** Returns the index in `bytes` after the last blank line, which may begin in `previousBytes`; 0 if there is none. */
function findEndOfLastEvent(previousBytes: Buffer = Buffer.alloc(0), bytes: Buffer): number {
  const joined = Buffer.concat([previousBytes, bytes]);
  const ends = ["\n\n", "\r\n\r\n", "\r\r"].map((blank) => {
    const index = joined.lastIndexOf(blank);
    return index === -1 ? 0 : index + blank.length - previousBytes.length;
  });
  return Math.max(0, ...ends);
}

const LINE_FEED = 10;

/** Replaces the library's buffer of the messages that a server writes to its standard output, one per line. */
export class CountedLines {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  append(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) {
      this.clear();
      throw new Error(`The MCP server sent a message of more than ${this.#maxBytes} bytes.`);
    }
    this.#chunks.push(chunk);
  }

  /**
   * Returns the next message; null until its line is complete. A message beyond the limits becomes the error of its
   * request.
   */
  readMessage(): JSONRPCMessage | null {
    if (this.#chunks.at(-1)?.includes(LINE_FEED) !== true) return null;
    const bytes = Buffer.concat(this.#chunks);
    const end = bytes.indexOf(LINE_FEED);
    const rest = bytes.subarray(end + 1);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    const line = bytes.toString("utf8", 0, end).replace(/\r$/, "");
    const excess = findExcess(line);
    return excess === undefined ? deserializeMessage(line) : createRefusal(line, excess);
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
  }
}

const INTERNAL_ERROR = -32603;
/** Servers write a response's id before or after its result, so only the edges of the line are searched. */
const ID = /"id"\s*:\s*(\d{1,15})/;
const EDGE_CHARS = 500;

/** Creates an error response in place of a refused message, so that its request does not wait until the deadline. */
function createRefusal(line: string, message: string): JSONRPCMessage {
  const id = ID.exec(line.slice(0, EDGE_CHARS)) ?? ID.exec(line.slice(-EDGE_CHARS));
  if (id === null) throw new Error(message);
  return { jsonrpc: "2.0", id: Number(id[1]), error: { code: INTERNAL_ERROR, message } };
}
