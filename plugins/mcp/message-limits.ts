/** What a message of an MCP server may hold. It is counted before the protocol's library parses and checks it. */
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

/** Why a message is refused; undefined for one within the limits. */
function excessOf(text: string): string | undefined {
  const { broken } = exactJson.scan(text, LIMITS);
  return broken && `The MCP server sent a message that ${EXCESS[broken]}.`;
}

function checkMessage(text: string): void {
  const excess = excessOf(text);
  if (excess !== undefined) throw new Error(excess);
}

/**
 * A `fetch` whose responses are counted: one in JSON as a whole, a stream event by event. Nobody else hears of the error
 * of a stream, so `onRefusedEvent` gets it.
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
    return new Response(response.body.pipeThrough(countedEvents(onRefusedEvent)), {
      status,
      headers,
    });
  };
}

/** Lets each event through once it is whole and was counted. */
function countedEvents(
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
      const end = endOfLastEvent(pending.at(-1)?.subarray(-BLANK_BYTES), bytes);
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

/** All but the last byte of the longest blank line: as much of it may have come before. */
const BLANK_BYTES = 3;

/** Behind the last blank line of `bytes`, which may begin in those before; 0 where there is none. */
function endOfLastEvent(before: Buffer = Buffer.alloc(0), bytes: Buffer): number {
  const joined = Buffer.concat([before, bytes]);
  const ends = ["\n\n", "\r\n\r\n", "\r\r"].map((blank) => {
    const at = joined.lastIndexOf(blank);
    return at === -1 ? 0 : at + blank.length - before.length;
  });
  return Math.max(0, ...ends);
}

const LINE_FEED = 10;

/** The messages that a server writes to its standard output, a line each, in the place of the library's buffer. */
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

  /** The next message; null until its line is whole. One that holds too much becomes the error of its request. */
  readMessage(): JSONRPCMessage | null {
    if (this.#chunks.at(-1)?.includes(LINE_FEED) !== true) return null;
    const bytes = Buffer.concat(this.#chunks);
    const end = bytes.indexOf(LINE_FEED);
    const rest = bytes.subarray(end + 1);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    const line = bytes.toString("utf8", 0, end).replace(/\r$/, "");
    const excess = excessOf(line);
    return excess === undefined ? deserializeMessage(line) : refusal(line, excess);
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
  }
}

const INTERNAL_ERROR = -32603;
/** Servers write a response's id before or behind its result. */
const ID = /"id"\s*:\s*(\d{1,15})/;
const EDGE_CHARS = 500;

/** The response to the request that a refused message answers, so that nobody waits for it until the deadline. */
function refusal(line: string, message: string): JSONRPCMessage {
  const id = ID.exec(line.slice(0, EDGE_CHARS)) ?? ID.exec(line.slice(-EDGE_CHARS));
  if (id === null) throw new Error(message);
  return { jsonrpc: "2.0", id: Number(id[1]), error: { code: INTERNAL_ERROR, message } };
}
