/** Describes the channel and the request of one attempt to the provider. */
import { isPorticoError, type Logger } from "portico";
import {
  type Credential,
  imageType,
  newCompletionId,
  parseDataUrl,
  type SmallRequest,
  type SmallResponse,
  type Target,
  type WireProvider,
} from "portico/provider";
import { createGuard, guardedFetch } from "portico/egress";
import { hiddenBody, type Masks, type SecretMask } from "portico/secrets";
import type { ChannelConfig } from "../schema.ts";
import type { Job } from "../job.ts";
import { exchangeSmall } from "./http/small-exchange.ts";
import type { UpstreamClient } from "./http/upstream-client.ts";
import { errors } from "../errors.ts";

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;
/** Content types of a page about the image, or of an error from its server. */
const NO_IMAGE = /^(?:text\/|application\/(?:.*\+)?(?:json|xml)$)/;

/** Services that all targets share. */
export interface TargetServices {
  masks: Masks;
  upstreams: UpstreamClient;
  log: Logger;
  ownPorts: () => readonly number[];
}

interface TargetOptions {
  channel: { name: string; config: ChannelConfig };
  model: string;
  apiKey: string | undefined;
  /** Used if the channel has no `baseUrl`. */
  defaultBaseUrl: string | undefined;
  job?: Job;
  /** See `Target`. */
  bare?: boolean;
}

const NO_HEADERS: Record<string, string> = {};
/** The target of one attempt. Nothing in it outlives the attempt. */
export class AttemptTarget implements Target {
  readonly channel: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers: Record<string, string>;
  readonly proxy: string | undefined;
  readonly options: Record<string, unknown>;
  readonly log: Logger;
  readonly bare: boolean;
  /** Masks the secrets that were sent to the upstream. */
  mask: SecretMask;
  credential?: Credential;
  readonly #channel: { config: ChannelConfig };
  readonly #job: Job | undefined;
  readonly #services: TargetServices;
  readonly #allowPrivate: boolean;
  #created: number | undefined;
  #id: string | undefined;
  #controller: AbortController | undefined;

  constructor(
    services: TargetServices,
    { channel, model, apiKey, defaultBaseUrl, job, bare = false }: TargetOptions,
  ) {
    const { config } = channel;
    this.#channel = channel;
    this.channel = channel.name;
    this.model = model;
    this.baseUrl = trimSlash(config.baseUrl ?? defaultBaseUrl ?? "");
    if (apiKey !== undefined) this.apiKey = apiKey;
    this.headers = config.headers ?? NO_HEADERS;
    this.proxy = config.proxy;
    this.options = config as unknown as Record<string, unknown>;
    this.log = services.log;
    this.bare = bare;
    this.#job = job;
    this.#services = services;
    this.mask = services.masks.of(channel);
    this.#allowPrivate = config.allowPrivateImages === true;
  }

  get created(): number {
    this.#created ??= Math.floor(Date.now() / 1000);
    return this.#created;
  }

  get id(): string {
    this.#id ??= newCompletionId();
    return this.#id;
  }

  /** Obtains the credential of the provider for its requests. Returns undefined if there is nothing to wait for. */
  authorize({ credential }: WireProvider): Promise<void> | undefined {
    if (credential === undefined || this.apiKey !== undefined) return undefined;
    const result = credential(this);
    if (result instanceof Promise) return result.then((fetched) => this.#setCredential(fetched));
    this.#setCredential(result);
    return undefined;
  }

  #setCredential(credential: Credential | undefined): void {
    if (credential === undefined) return;
    this.credential = credential;
    const { masks } = this.#services;
    masks.learn(this.#channel, Object.values(credential));
    this.mask = masks.of(this.#channel);
  }

  request(call: SmallRequest, timeoutMs = REQUEST_TIMEOUT_MS): Promise<SmallResponse> {
    return exchangeSmall(this.#services.upstreams, call, { proxy: this.proxy, timeoutMs });
  }

  /** Masks all secrets in an error, since many errors quote the upstream. */
  maskError<E>(error: E): E {
    return this.#services.masks.all().error(error);
  }

  /** Masks all secrets in the body of an error. */
  maskErrorBody(body: Buffer): Buffer {
    return hiddenBody(body, this.#services.masks.all());
  }

  get signal(): AbortSignal {
    return this.#getController().signal;
  }

  /** Aborts the signal, as a cancelled job does, because the result of this attempt is no longer needed. */
  stop(reason: Error): void {
    this.#getController().abort(reason);
  }

  /** Creates the controller at first use, because most attempts need none. */
  #getController(): AbortController {
    if (this.#controller !== undefined) return this.#controller;
    const controller = new AbortController();
    this.#controller = controller;
    const jobSignal = this.#job?.signal;
    if (jobSignal?.aborted === true) controller.abort(jobSignal.reason);
    jobSignal?.addEventListener("abort", () => controller.abort(jobSignal.reason), { once: true });
    return controller;
  }

  async fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }> {
    if (url.slice(0, 5).toLowerCase() === "data:") {
      const parsed = parseDataUrl(url);
      if (parsed === undefined) throw errors.imageDataUrlInvalid();
      return parsed;
    }
    try {
      return await this.#fetchWebImage(url);
    } catch (error) {
      if (this.#job?.cancelled === true) throw error;
      if (isPorticoError(error) && error.code === "invalid_request_error") throw error;
      // A problem with the address is an error of the caller's request.
      const problem = isPorticoError(error)
        ? error.message
        : "the image's server could not be reached.";
      throw errors.imageNotFetched({ problem }, { cause: error });
    }
  }

  async #fetchWebImage(url: string): Promise<{ mediaType: string; data: Buffer }> {
    const guard = createGuard({
      policy: () => ({ allowPrivate: this.#allowPrivate }),
      ownPorts: this.#services.ownPorts,
      code: "address_blocked",
    });
    const { status, headers, body } = await guardedFetch(guard, url, {
      maxBytes: MAX_IMAGE_BYTES,
      timeoutMs: 20_000,
      signal: this.signal,
    });
    if (status !== 200) throw errors.imageRefused({ answer: status });
    if (body.length === 0) throw errors.imageRefused({ answer: "nothing" });
    const declaredType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
    const mediaType = declaredType?.startsWith("image/")
      ? declaredType
      : (imageType(body) ?? declaredType);
    if (NO_IMAGE.test(mediaType ?? "")) throw errors.imageRefused({ answer: String(mediaType) });
    return { mediaType: mediaType ?? "application/octet-stream", data: body };
  }
}

function trimSlash(url: string): string {
  let end = url.length;
  while (end > 0 && url.charCodeAt(end - 1) === 47) end--;
  return url.slice(0, end);
}
