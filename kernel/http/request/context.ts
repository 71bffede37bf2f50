/** One request and its response: the `Call` that handlers get. What not every route needs is made at first use. */
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
import { addressOf } from "../../net/address.ts";
import { ANONYMOUS } from "../access/auth.ts";
import { errors } from "../errors.ts";
import { bodyChunks } from "../body/compressed.ts";
import { checkJsonType, parseJson } from "../body/json.ts";
import { readBody, readWireBody } from "../body/read.ts";
import type { HttpRequest } from "../body/request.ts";
import type { RouteInput } from "./declared-input.ts";

/** What the server knows that its requests need. */
export interface ServerContext {
  readonly log: Logger;
  readonly settings: () => HttpSettings;
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
}

const CUT = Symbol("cut");

export class RequestContext implements Call {
  readonly id: string;
  /** The gateway made the id; the client sent none. */
  readonly isOwnId: boolean;
  readonly path: string;
  params: Record<string, string> = {};
  client: Client = ANONYMOUS;
  maxBodyBytes: number | undefined = undefined;
  subject: RequestSubject | undefined = undefined;
  /** Of its route; undefined where none matched. */
  access: Access | undefined = undefined;
  /** What its response says was wrong. */
  error: PorticoError | undefined = undefined;
  /** What its route declares of its input. */
  declared: RouteInput | undefined = undefined;
  /** Its JSON body, once it was read and is valid. */
  jsonBody: unknown = undefined;
  /** Where its response is counted: status → responses of its route. */
  tally: Map<number, number> | undefined = undefined;
  /** The client waits for `100 Continue` before it sends its body. */
  awaitsContinue = false;
  /** The headers of every response are set. */
  dressed = false;
  /** The one on the same connection whose response goes out before. */
  before: RequestContext | undefined = undefined;
  /** True when no caller waits for the handler. */
  #overdue = false;
  readonly #search: string;
  #query: URLSearchParams | undefined;
  #address: string | undefined;
  #log: Logger | undefined;
  /** Called when the client leaves. In a list: a listener for each costs ten times as much. */
  #watchers: (() => void)[] | undefined;
  #abort: AbortController | undefined;
  #body: Promise<Buffer> | undefined;
  #wireBody: Promise<Buffer> | undefined;

  /** `plain` is the response for the server's own use, without the headers that every response has. */
  constructor(
    readonly server: ServerContext,
    readonly req: HttpRequest,
    readonly plain: ServerResponse,
  ) {
    const callersId = givenId(req);
    this.isOwnId = callersId === undefined;
    this.id = callersId ?? mintId();
    const url = req.url as string;
    const mark = url.indexOf("?");
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.#search = mark < 0 ? "" : url.slice(mark);
  }

  /** With the headers of every response set. Setting them costs, so it waits for a handler that responds by itself. */
  get res(): ServerResponse {
    if (!this.dressed) {
      this.dressed = true;
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
    this.#address ??= addressOf(this.req, this.server.settings().trustedProxies);
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

  onDisconnect(gone: () => void): void {
    const res = this.plain;
    // mostly it is the only one: a list that grows has room for seventeen
    if (!res.closed && !res.destroyed) this.#watchers = this.#watchers?.concat(gone) ?? [gone];
    else if (this.#isLeft()) gone();
  }

  /** The response was sent, or the client has disconnected. */
  closed(): void {
    if (this.#watchers && this.#isLeft()) for (const gone of this.#watchers) gone();
  }

  #isLeft(): boolean {
    return !this.plain.writableFinished || this.#overdue;
  }

  onCut(ending: () => void): void {
    this.plain.once(CUT, ending);
  }

  /** The connection is about to be cut. */
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

  /** Where the client waits for it. */
  sendContinue(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.res.writeContinue();
  }

  async json<T = unknown>(check?: Check<T>): Promise<T> {
    const value = await this.#parsedBody();
    const wanted = check ?? (await this.declared?.body());
    this.jsonBody = wanted ? wanted.parse(value) : value;
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
const RUN = randomBytes(9).toString("base64url");
let minted = 0;

/** The caller's own id, where it is well-formed. */
export function givenId({ headers }: IncomingMessage): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" && WELL_FORMED.test(id) ? id : undefined;
}

/** `req_`, 72 random bits of this process, and a count. */
export const mintId = (): string => `req_${RUN}${(minted++).toString(36)}`;
