/** Reads the entry that a request is about to change: calls its `GET` handler within that request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { withDeadline } from "../timing/deadline.ts";
import type { BodyLimits, Call, Client, Logger, RouteHandler } from "../contract/index.ts";
import type { RequestContext } from "./request/context.ts";
import type { RouteInput } from "./request/declared-input.ts";
import { copyJson } from "./response/reply.ts";

/** A path that names an entry, with the handler that shows it. */
export interface Entry {
  path: string;
  params: Record<string, string>;
  handler: RouteHandler;
  declared: RouteInput;
}

/** The time limit of a reading, so that a slow one does not delay the change. */
const READ_MS = 1000;

/** Returns a copy of the entry's current value; undefined if it does not exist, is not JSON, or takes too long. */
export async function readEntry(entry: Entry, call: RequestContext): Promise<unknown> {
  try {
    const reading = entry.handler(new EntryReading(call, entry));
    return copyJson(await withDeadline(reading, READ_MS, () => new Error("late")));
  } catch {
    return undefined;
  }
}

/** A request for the entry, by the client that asks for the change. It has no response to write to. */
class EntryReading implements Call {
  readonly method = "GET";
  readonly query = new URLSearchParams();
  readonly path: string;
  readonly params: Record<string, string>;
  readonly req: IncomingMessage;
  readonly id: string;
  readonly client: Client;
  readonly address: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly closing: AbortSignal;
  readonly limits: BodyLimits;
  readonly #declared: RouteInput;

  constructor(call: RequestContext, { path, params, declared }: Entry) {
    this.path = path;
    this.#declared = declared;
    this.params = { ...params };
    this.req = call.req;
    this.id = call.id;
    this.client = call.client;
    this.address = call.address;
    this.log = call.log;
    this.signal = call.signal;
    this.closing = call.closing;
    this.limits = call.limits;
  }

  get res(): ServerResponse {
    throw new Error("This request has no response of its own.");
  }

  onDisconnect(): void {}

  onCut(): void {}

  async body(): Promise<Buffer> {
    return Buffer.alloc(0);
  }

  wireBody(): Promise<Buffer> {
    return this.body();
  }

  async *chunks(): AsyncIterable<Buffer> {}

  async json<T = unknown>(): Promise<T> {
    return {} as T;
  }

  async input<T = Record<string, unknown>>(): Promise<T> {
    const { check } = await this.#declared.merged();
    return check.parse(check.merge({ params: this.params })) as T;
  }
}
