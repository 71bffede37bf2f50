/** Answers the gateway's requests with the browser of this machine, files included. */
import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isPorticoError, type PluginContext } from "portico";
import { errors } from "../errors.ts";
import { fileSink, Incoming } from "../incoming.ts";
import type { NodeSocket } from "../node-socket.ts";
import type { BrowserResponse, BrowserRequest } from "portico/browser";
import {
  type Chunk,
  FILE_RESPONSES,
  type FromNode,
  type Hello,
  MAX_MESSAGE,
  setAt,
  STALL_MS,
  type ToNode,
  valueAt,
  type WireError,
} from "../wire.ts";
import type { Outgoing } from "./outgoing.ts";
import type { TransferDirectory } from "./transfer-directory.ts";

type Request = Extract<ToNode, { t: "request" }>;

interface RequestHandlerOptions {
  ctx: PluginContext;
  nodeSocket: NodeSocket;
  /** `nodeHost.browserProxy.enabled` */
  enabled(): boolean;
  maxFileBytes(): number;
  /** Files that the gateway sent for pages. A page may read a file long after it was chosen. */
  uploads: TransferDirectory;
  outgoing: Outgoing;
  /** The gateway's IP address. Pages must not reach its ports. */
  gatewayAddress: string;
}

export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #incoming = new Map<number, Map<number, Incoming>>();
  readonly #cancelled = new Set<number>();
  readonly #running = new Set<number>();
  #profiles: string[] = [];

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Describes this node's current state. */
  async hello(): Promise<Hello> {
    const { ctx, enabled } = this.#options;
    let browser = enabled();
    this.#profiles = [];
    try {
      if (browser) this.#profiles = (await listProfiles(ctx)).map(({ name }) => name);
    } catch {
      browser = false;
    }
    return {
      t: "hello",
      version: ctx.version,
      platform: process.platform,
      browser,
      profiles: this.#profiles,
    };
  }

  /** Runs a request and sends the answer. Never rejects: an error becomes the answer. */
  async answer(message: Request): Promise<void> {
    const { nodeSocket } = this.#options;
    const { id, request } = message;
    this.#running.add(id);
    try {
      await this.#send(message, await this.#run(message));
    } catch (error) {
      this.#options.outgoing.fail(id);
      await nodeSocket.send({ t: "error", id, error: this.#toWireError(error) } satisfies FromNode);
    } finally {
      this.#incoming.delete(id);
      this.#cancelled.delete(id);
      this.#running.delete(id);
    }
    if (/^\/(profiles\/|reset-profile)/.test(request.route))
      await nodeSocket.send(await this.hello());
    if (request.route === "/stop") await this.#clearUnusedUploads();
  }

  async #run(message: Request): Promise<BrowserResponse> {
    const { ctx, enabled } = this.#options;
    if (!enabled()) {
      throw errors.browserOff();
    }
    const uploads = message.files.length === 0 ? undefined : this.#options.uploads.create();
    try {
      if (uploads !== undefined) await this.#receiveFiles(message, uploads);
      const { policy } = message.request;
      if (policy !== undefined) policy.addresses = [this.#options.gatewayAddress];
      const request = message.orDefaultProfile
        ? await this.#removeUnknownProfile(message.request)
        : message.request;
      return await ctx.use("browser").request(request);
    } catch (error) {
      // The request failed, so no page uses its files.
      const incoming = [...(this.#incoming.get(message.id)?.values() ?? [])];
      await Promise.all(incoming.map((file) => file.fail(error)));
      const dir = await uploads?.catch(() => undefined);
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  /** Receives a request's files into `dir`, and sets their paths in the request's body. */
  async #receiveFiles({ id, request, files }: Request, dir: Promise<string>): Promise<void> {
    const limit = this.#options.maxFileBytes();
    const incomingFiles = new Map<number, Incoming>();
    // Must be set before the first await, because the files' content may already be arriving.
    this.#incoming.set(id, incomingFiles);
    for (const [i, file] of files.entries()) {
      if (file.size > limit) throw errors.receivedFileTooLarge({ limit }, { param: "paths" });
      const sink = dir.then((path) => fileSink(path, join(String(i), basename(file.name))));
      incomingFiles.set(i, new Incoming(sink, file.size));
    }
    const stallError = errors.filesStalled();
    for (const [i, file] of files.entries()) {
      const incomingFile = incomingFiles.get(i) as Incoming;
      setAt(request.body, file.at, await incomingFile.withoutStall(STALL_MS, stallError));
    }
  }

  /** Removes the uploads if no browser is running, since then no page uses them. */
  async #clearUnusedUploads(): Promise<void> {
    const profiles = await listProfiles(this.#options.ctx).catch(() => []);
    if (!profiles.some(({ running }) => running)) await this.#options.uploads.clear();
  }

  /** Removes a profile name that this node does not have: it is the gateway's name for the default profile. */
  async #removeUnknownProfile(request: BrowserRequest): Promise<BrowserRequest> {
    const { query, body } = request as {
      query?: Record<string, string>;
      body?: Record<string, unknown>;
    };
    const name = body?.["profile"] ?? query?.["profile"];
    if (name === undefined || this.#profiles.includes(String(name))) return request;
    this.#profiles = (await listProfiles(this.#options.ctx)).map(({ name: ownName }) => ownName);
    if (this.#profiles.includes(String(name))) return request;
    delete body?.["profile"];
    delete query?.["profile"];
    return request;
  }

  async #send({ id, request }: Request, answer: BrowserResponse): Promise<void> {
    const { nodeSocket, outgoing } = this.#options;
    const isWanted = (): boolean => !this.#cancelled.has(id);
    if ("bytes" in answer) {
      if (!isWanted()) return;
      const { bytes, type } = answer;
      if (bytes.length > MAX_MESSAGE)
        throw errors.answerTooLarge({ bytes: bytes.length, limit: MAX_MESSAGE });
      await nodeSocket.send({ t: "bytes", id, type, size: bytes.length } satisfies FromNode);
      await nodeSocket.stream(id, 0, yieldOnce(bytes), { isWanted });
      return;
    }
    const body = answer.body as Record<string, unknown>;
    const rule = FILE_RESPONSES[`${request.method} ${request.route}`];
    const path = rule === undefined ? undefined : valueAt(body, rule.at);
    if (rule === undefined || typeof path !== "string") {
      if (isWanted()) await this.#sendBody(id, body, []);
      return;
    }
    const file = await outgoing.take(id, path, rule.wanted);
    if (!isWanted()) return outgoing.fail(id);
    const { size } = await stat(file);
    await this.#sendBody(id, body, [{ at: rule.at, name: basename(path), size }]);
    const parts = createReadStream(file, { highWaterMark: 256 * 1024 });
    if (!(await nodeSocket.stream(id, 0, parts, { isWanted }))) outgoing.fail(id);
  }

  async #sendBody(
    id: number,
    body: Record<string, unknown>,
    files: Extract<FromNode, { t: "answer" }>["files"],
  ): Promise<void> {
    const text = JSON.stringify({ t: "answer", id, body, files } satisfies FromNode);
    const length = Buffer.byteLength(text);
    if (length > MAX_MESSAGE) throw errors.answerTooLarge({ bytes: length, limit: MAX_MESSAGE });
    await this.#options.nodeSocket.sendText(text);
  }

  chunk({ id, stream, content }: Chunk): Promise<void> {
    return this.#incoming.get(id)?.get(stream)?.take(content) ?? Promise.resolve();
  }

  /** Handles the gateway's confirmation that it has stored the answer's file. */
  confirmReceived(id: number): Promise<void> {
    return this.#options.outgoing.confirm(id);
  }

  /** Drops the answer of a request. The browser's work itself cannot be stopped. */
  cancel(id: number): void {
    if (this.#running.has(id)) this.#cancelled.add(id);
    for (const file of this.#incoming.get(id)?.values() ?? [])
      void file.fail(new Error("cancelled by the gateway"));
    this.#options.outgoing.fail(id);
  }

  /** Cancels every request, since the connection has ended and files in transit will not arrive. */
  connectionEnded(): void {
    for (const id of this.#running) this.cancel(id);
    this.#options.outgoing.failAll();
  }

  #toWireError(error: unknown): WireError {
    if (!isPorticoError(error)) {
      this.#options.ctx.log.error({ err: error }, "a request from the gateway failed");
      return {
        code: "internal_error",
        message: "The node failed to handle the request. See the node's log.",
        status: 500,
      };
    }
    const { code, message, status, param, details } = error;
    return {
      code,
      message,
      status,
      param,
      details,
    };
  }
}

async function listProfiles(ctx: PluginContext): Promise<{ name: string; running: boolean }[]> {
  const answer = await ctx.use("browser").request({ method: "GET", route: "/profiles" });
  const { profiles = [] } = ("body" in answer ? answer.body : {}) as {
    profiles?: { name: string; running: boolean }[];
  };
  return profiles;
}

async function* yieldOnce(content: Buffer): AsyncIterable<Buffer> {
  yield content;
}
