/** Exports spans to a collector: OTLP over HTTP, as JSON. Buffers spans while the collector does not accept them. */
import type { Logger } from "portico";
import { createOwnerGuard, guardedFetch } from "portico/egress";
import type { TelemetryConfig } from "./schema.ts";
import { encodeAttributes, type Span } from "./span.ts";

/** The maximum number of spans in one request. */
const BATCH_SIZE = 500;
/** The maximum number of buffered spans. The oldest are dropped first. */
const MAX_BUFFERED = 5_000;
const SEND_TIMEOUT_MS = 4_000;

interface ExporterOptions extends Pick<TelemetryConfig, "headers" | "serviceName"> {
  otlp: string;
  version: string;
  log: Logger;
}

interface Problem {
  reason: string;
  /** True if the same spans may be sent again. */
  isRetryable: boolean;
}

/** Appends `/v1/traces` to an address such as `http://host:4318`. */
export function tracesUrl(otlp: string): string {
  const url = new URL(otlp);
  if (!url.pathname.endsWith("/v1/traces"))
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #url: string;
  #buffer: Span[] = [];
  #droppedSpans = 0;
  #isFailing = false;
  #runningFlush: Promise<void> | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = tracesUrl(options.otlp);
  }

  add(span: Span): void {
    this.#buffer.push(span);
    // Removes spans in blocks, since removing each one would copy the whole buffer.
    if (this.#buffer.length < MAX_BUFFERED + BATCH_SIZE) return;
    this.#buffer = this.#buffer.slice(-MAX_BUFFERED);
    this.#droppedSpans += BATCH_SIZE;
  }

  /** Sends the buffered spans, or joins a flush that is already running. Never rejects. */
  flush(): Promise<void> {
    this.#runningFlush ??= this.#sendAll().finally(() => (this.#runningFlush = undefined));
    return this.#runningFlush;
  }

  async #sendAll(): Promise<void> {
    while (this.#buffer.length > 0) {
      const batch = this.#buffer.splice(0, BATCH_SIZE);
      const problem = await this.#send(batch);
      if (problem === undefined) {
        this.#report(undefined);
        continue;
      }
      this.#report(problem);
      if (!problem.isRetryable) {
        this.#droppedSpans += batch.length;
        continue;
      }
      const remaining = [...batch, ...this.#buffer];
      this.#buffer = remaining.slice(-MAX_BUFFERED);
      this.#droppedSpans += remaining.length - this.#buffer.length;
      return;
    }
  }

  async #send(spans: readonly Span[]): Promise<Problem | undefined> {
    const { headers, serviceName, version } = this.#options;
    const resource = {
      attributes: encodeAttributes({ "service.name": serviceName, "service.version": version }),
    };
    const scopeSpans = [{ scope: { name: "portico", version }, spans }];
    try {
      const { status } = await guardedFetch(createOwnerGuard(this.#url), this.#url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        timeoutMs: SEND_TIMEOUT_MS,
        redirects: 0,
        headOnly: true,
      });
      if (status >= 200 && status <= 299) return undefined;
      return {
        reason: `it responded with status ${status}`,
        isRetryable: status === 429 || status >= 500,
      };
    } catch (error) {
      const { code, cause } = error as { code: string; cause?: { code?: string } };
      return { reason: cause?.code ?? code, isRetryable: true };
    }
  }

  /** Logs once when the collector stops accepting spans, and once when it accepts them again. */
  #report(problem: Problem | undefined): void {
    if (this.#isFailing === (problem !== undefined)) return;
    this.#isFailing = problem !== undefined;
    const { log } = this.#options;
    if (problem === undefined)
      log.info(
        { lost: this.#droppedSpans },
        "the collector of telemetry.otlp accepts traces again",
      );
    else
      log.warn(
        { why: problem.reason, kept: problem.isRetryable },
        "the collector of telemetry.otlp does not accept traces",
      );
    this.#droppedSpans = 0;
  }
}
