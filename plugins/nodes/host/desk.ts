/** Answers the gateway's requests with the browser of this machine, files included. */
import { createReadStream } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ensureTmpRoot, isPorticoError, type PluginContext, PorticoError } from "portico";
import { fileSink, Incoming } from "../incoming.ts";
import type { Line } from "../line.ts";
import type { BrowserAnswer, BrowserRequest } from "../types.ts";
import {
  type Chunk,
  FILE_ANSWERS,
  type FromNode,
  type Hello,
  MAX_MESSAGE,
  setAt,
  STALL_MS,
  type ToNode,
  valueAt,
  type WireError,
} from "../wire.ts";

type Request = Extract<ToNode, { t: "request" }>;

/** Below the uploads: what the gateway sent. A page may read a file long after it was chosen, so these stay. */
const FROM_GATEWAY = "from-gateway";

export interface DeskOptions {
  ctx: PluginContext;
  line: Line;
  /** `nodeHost.browserProxy.enabled` */
  enabled(): boolean;
  maxFileBytes(): number;
  /** Where the gateway is reached: its ports are out of bounds for pages. */
  gatewayAddress: string;
}

/** Removes the uploads of earlier connections. */
export const forgetUploads = (tmp: string): Promise<void> =>
  rm(join(tmp, "uploads", FROM_GATEWAY), { recursive: true, force: true });

export class Desk {
  readonly #options: DeskOptions;
  readonly #incoming = new Map<number, Map<number, Incoming>>();
  readonly #cancelled = new Set<number>();
  readonly #running = new Set<number>();
  #profiles: string[] = [];

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** What this node is at the moment. */
  async hello(): Promise<Hello> {
    const { ctx, enabled } = this.#options;
    let browser = enabled();
    try {
      this.#profiles = await profileNames(ctx);
    } catch {
      browser = false;
    }
    return { t: "hello", version: ctx.version, platform: process.platform, browser, profiles: this.#profiles };
  }

  /** Never rejects: what goes wrong is the answer. */
  async answer(message: Request): Promise<void> {
    const { line } = this.#options;
    const { id } = message;
    this.#running.add(id);
    try {
      const answer = await this.#run(message);
      if (!this.#cancelled.has(id)) await this.#send(message, answer);
    } catch (error) {
      await line.send({ t: "error", id, error: this.#shown(error) } satisfies FromNode);
    } finally {
      for (const one of this.#incoming.get(id)?.values() ?? []) void one.fail(new Error("the request has ended"));
      this.#incoming.delete(id);
      this.#cancelled.delete(id);
      this.#running.delete(id);
    }
    if (/^\/(profiles\/|reset-profile)/.test(message.request.route)) await line.send(await this.hello());
  }

  async #run(message: Request): Promise<BrowserAnswer> {
    const { ctx, enabled } = this.#options;
    if (!enabled()) {
      throw new PorticoError(
        "node_unavailable",
        "This node offers no browser: nodeHost.browserProxy.enabled is false in its configuration.",
      );
    }
    await this.#takeFiles(message);
    const { policy } = message.request;
    if (policy !== undefined) policy.addresses = [this.#options.gatewayAddress];
    const request = message.orDefaultProfile ? await this.#ownProfile(message.request) : message.request;
    return ctx.use("browser").request(request);
  }

  /** The files that come with a request, put where pages may have them from. */
  async #takeFiles({ id, request, files }: Request): Promise<void> {
    if (files.length === 0) return;
    const most = this.#options.maxFileBytes();
    const coming = new Map<number, Incoming>();
    // Before anything is awaited: their content is on its way.
    this.#incoming.set(id, coming);
    const dir = this.#uploads();
    for (const [i, file] of files.entries()) {
      if (file.size > most)
        throw new PorticoError("invalid_request_error", `A file has more than ${most} bytes.`, { param: "paths" });
      const sink = dir.then((into) => fileSink(into, join(String(i), basename(file.name))));
      coming.set(i, new Incoming(sink, file.size));
    }
    const stalled = new PorticoError("timeout", "The files of the request did not arrive.");
    for (const [i, file] of files.entries()) {
      const one = coming.get(i) as Incoming;
      setAt(request.body, file.at, await one.withoutStall(STALL_MS, stalled));
    }
  }

  async #uploads(): Promise<string> {
    const { path } = await ensureTmpRoot(this.#options.ctx.paths.tmp);
    const dir = join(
      path,
      "uploads",
      FROM_GATEWAY,
      `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`,
    );
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return dir;
  }

  /** A profile that this node lacks is the gateway's name for the default one. */
  async #ownProfile(request: BrowserRequest): Promise<BrowserRequest> {
    const { query, body } = request as { query?: Record<string, string>; body?: Record<string, unknown> };
    const name = body?.["profile"] ?? query?.["profile"];
    if (name === undefined || this.#profiles.includes(String(name))) return request;
    this.#profiles = await profileNames(this.#options.ctx);
    if (this.#profiles.includes(String(name))) return request;
    delete body?.["profile"];
    delete query?.["profile"];
    return request;
  }

  async #send({ id, request }: Request, answer: BrowserAnswer): Promise<void> {
    const { line } = this.#options;
    const stop = (): boolean => this.#cancelled.has(id);
    if ("bytes" in answer) {
      const { bytes, type } = answer;
      if (bytes.length > MAX_MESSAGE) throw tooLarge(bytes.length);
      await line.send({ t: "bytes", id, type, size: bytes.length } satisfies FromNode);
      await line.stream(id, 0, once(bytes), stop);
      return;
    }
    const body = answer.body as Record<string, unknown>;
    const rule = FILE_ANSWERS[`${request.method} ${request.route}`];
    const path = rule === undefined ? undefined : valueAt(body, rule.at);
    if (rule === undefined || typeof path !== "string") return this.#sendBody(id, body, []);
    const { size } = await stat(path);
    await this.#sendBody(id, body, [{ at: rule.at, name: basename(path), size }]);
    await line.stream(id, 0, createReadStream(path, { highWaterMark: 256 * 1024 }), stop);
    // It belongs to the gateway now.
    await rm(path, { force: true });
  }

  async #sendBody(
    id: number,
    body: Record<string, unknown>,
    files: Extract<FromNode, { t: "answer" }>["files"],
  ): Promise<void> {
    const text = JSON.stringify({ t: "answer", id, body, files } satisfies FromNode);
    const length = Buffer.byteLength(text);
    if (length > MAX_MESSAGE) throw tooLarge(length);
    await this.#options.line.sendText(text);
  }

  chunk({ id, stream, content }: Chunk): Promise<void> {
    return this.#incoming.get(id)?.get(stream)?.take(content) ?? Promise.resolve();
  }

  /** The browser's work cannot be called back; its answer is dropped. */
  cancel(id: number): void {
    if (this.#running.has(id)) this.#cancelled.add(id);
    for (const one of this.#incoming.get(id)?.values() ?? []) void one.fail(new Error("cancelled by the gateway"));
  }

  /** The connection is gone: files that were on their way will not come. */
  ended(): void {
    for (const id of this.#running) this.cancel(id);
  }

  #shown(error: unknown): WireError {
    if (!isPorticoError(error)) {
      this.#options.ctx.log.error({ err: error }, "a request of the gateway failed");
      return { code: "internal_error", message: "Something went wrong on the node: see its log.", status: 500 };
    }
    const { code, message, status, param, details } = error;
    return {
      code,
      message,
      status,
      ...(param === undefined ? {} : { param }),
      ...(details === undefined ? {} : { details }),
    };
  }
}

async function profileNames(ctx: PluginContext): Promise<string[]> {
  const answer = await ctx.use("browser").request({ method: "GET", route: "/profiles" });
  const { profiles = [] } = ("body" in answer ? answer.body : {}) as { profiles?: { name: string }[] };
  return profiles.map(({ name }) => name);
}

const tooLarge = (bytes: number): PorticoError =>
  new PorticoError("action_failed", `The answer has ${bytes} bytes, more than a node may send (${MAX_MESSAGE}).`);

async function* once(content: Buffer): AsyncIterable<Buffer> {
  yield content;
}
