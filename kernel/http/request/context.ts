/**
 * One request and its response: the `Call` that handlers receive. Values that not every route needs are created on
 * demand.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpSettings } from "../../config/schema.ts";
import type { PorticoError } from "../../errors.ts";
import type {
  Access,
  BodyLimits,
  Call,
  Check,
  Client,
  Logger,
  RequestSubject,
} from "../../contract/index.ts";
import { findCallerAddress } from "../../net/address.ts";
import { ANONYMOUS } from "../access/auth.ts";
import { errors } from "../errors.ts";
import { bodyChunks } from "../body/compressed.ts";
import { checkJsonType, parseJson } from "../body/json.ts";
import { readBody, readWireBody } from "../body/read.ts";
import type { HttpRequest } from "../body/request.ts";
import type { RouteInput } from "./declared-input.ts";

/** The parts of the server that its requests use. */
export interface ServerContext {
  readonly log: Logger;
  readonly settings: () => HttpSettings;
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
}

const CUT = Symbol("cut");

export class RequestContext implements Call {
  readonly id: string;
  /** True if the gateway generated the id because the client sent none. */
  readonly isOwnId: boolean;
  readonly path: string;
  params: Record<string, string> = {};
  client: Client = ANONYMOUS;
  maxBodyBytes: number | undefined = undefined;
  subject: RequestSubject | undefined = undefined;
  /** The access of the route; undefined if no route matched. */
  access: Access | undefined = undefined;
  /** The error that the response reports. */
  error: PorticoError | undefined = undefined;
  /** The input that the route declares. */
  declared: RouteInput | undefined = undefined;
  /** The JSON body, once it is read and valid. */
  jsonBody: unknown = undefined;
  /** The counts of the route's responses by status. */
  tally: Map<number, number> | undefined = undefined;
  /** True while the client waits for `100 Continue` before it sends its body. */
  awaitsContinue = false;
  /** True once the headers that every response has are set. */
  hasCommonHeaders = false;
  /** The request before this one on the same connection, until this one ends. */
  previous: RequestContext | undefined = undefined;
  /** True once the server has stopped waiting for the handler. */
  #overdue = false;
  readonly #search: string;
  #query: URLSearchParams | undefined;
  #address: string | undefined;
  #log: Logger | undefined;
  /**
   * Called when the client disconnects. They are in an array because an event listener for each costs ten times as
   * much.
   */
  #disconnectListeners: (() => void)[] | undefined;
  #abort: AbortController | undefined;
  #body: Promise<Buffer> | undefined;
  #wireBody: Promise<Buffer> | undefined;

  /** `plain` is the response without the headers that every response has, for the server's own use. */
  constructor(
    readonly server: ServerContext,
    readonly req: HttpRequest,
    readonly plain: ServerResponse,
  ) {
    const callersId = clientRequestId(req);
    this.isOwnId = callersId === undefined;
    this.id = callersId ?? mintId();
    const url = req.url as string;
    const mark = url.indexOf("?");
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.#search = mark < 0 ? "" : url.slice(mark);
  }

  /**
   * The response with the headers that every response has. Setting them is expensive, so it waits for a handler that
   * uses `res`.
   */
  get res(): ServerResponse {
    if (!this.hasCommonHeaders) {
      this.hasCommonHeaders = true;
      if (!this.plain.headersSent) {
        this.plain.setHeader("x-request-id", this.id);
        this.plain.setHeader("x-content-type-options", "nosniff");
      }
    }
    return this.plain;
  }

  get method(): string {
    return this.req.method as string;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#search);
    return this.#query;
  }

  get address(): string {
    this.#address ??= findCallerAddress(this.req, this.server.settings().trustedProxies);
    return this.#address;
  }

  get log(): Logger {
    this.#log ??= this.server.log.child({ id: this.id });
    return this.#log;
  }

  get closing(): AbortSignal {
    return this.server.closing;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      this.onDisconnect(() =>
        abort.abort(new DOMException("The client disconnected.", "AbortError")),
      );
    }
    return this.#abort.signal;
  }

  onDisconnect(listener: () => void): void {
    const res = this.plain;
    // Mostly this is the only listener. An array that grows by `push` reserves room for seventeen.
    if (!res.closed && !res.destroyed)
      this.#disconnectListeners = this.#disconnectListeners?.concat(listener) ?? [listener];
    else if (this.#isAbandoned()) listener();
  }

  /** Called when the response was sent or the client has disconnected. */
  handleClosed(): void {
    if (this.#disconnectListeners && this.#isAbandoned())
      for (const notifyDisconnect of this.#disconnectListeners) notifyDisconnect();
  }

  #isAbandoned(): boolean {
    return !this.plain.writableFinished || this.#overdue;
  }

  onCut(listener: () => void): void {
    this.plain.once(CUT, listener);
  }

  /** Notifies the handler that the connection is about to be cut. */
  cut(): void {
    this.#overdue = true;
    this.plain.emit(CUT);
  }

  get limits(): BodyLimits {
    return this.server.settings().http;
  }

  body(): Promise<Buffer> {
    this.#body ??= readBody(this.req, () => this.wireBody(), this.#maxBytes);
    return this.#body;
  }

  wireBody(): Promise<Buffer> {
    const timeoutMs = this.server.settings().http.bodyTimeoutMs;
    this.#wireBody ??= readWireBody(this, { maxBytes: this.#maxBytes, timeoutMs });
    return this.#wireBody;
  }

  get #maxBytes(): number {
    return this.maxBodyBytes ?? this.server.settings().http.maxBodyBytes;
  }

  chunks(): AsyncIterable<Buffer> {
    this.sendContinue();
    return bodyChunks(this.req);
  }

  /** Sends `100 Continue` if the client waits for it. */
  sendContinue(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.res.writeContinue();
  }

  async json<T = unknown>(check?: Check<T>): Promise<T> {
    const value = await this.#parsedBody();
    const bodyCheck = check ?? (await this.declared?.body());
    this.jsonBody = bodyCheck ? bodyCheck.parse(value) : value;
    return this.jsonBody as T;
  }

  async input<T = Record<string, unknown>>(): Promise<T> {
    const { check, takesBody, refuseUnknown } = await (this.declared as RouteInput).merged();
    const { params, query } = this;
    const body = takesBody ? await this.#jsonObject() : undefined;
    if (body) refuseUnknown(body);
    const input = check.parse(check.merge({ params, query, body }));
    this.jsonBody = body;
    return input as T;
  }

  async #parsedBody(): Promise<unknown> {
    checkJsonType(this.req);
    const bytes = await this.body();
    if (bytes.length === 0 && this.declared?.optionalBody) return {};
    return parseJson(bytes, { limits: this.limits });
  }

  async #jsonObject(): Promise<Record<string, unknown>> {
    const value = await this.#parsedBody();
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw errors.needsObject();
  }
}

const WELL_FORMED = /^[\w.:-]{1,128}$/;
const PROCESS_ID = randomBytes(9).toString("base64url");
let mintedCount = 0;

/** Returns the request id that the client sent, if it is well-formed. */
export function clientRequestId({ headers }: IncomingMessage): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" && WELL_FORMED.test(id) ? id : undefined;
}

/** Generates a request id: `req_`, 72 random bits of this process, and a counter. */
export const mintId = (): string => `req_${PROCESS_ID}${(mintedCount++).toString(36)}`;
