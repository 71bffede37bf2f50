/** Spans on their way to a collector: OTLP over HTTP, as JSON. What it does not take is kept for a while. */
import type { Logger } from "portico";
import { createOwnerGuard, guardedFetch } from "portico/egress";
import type { TelemetryConfig } from "./schema.ts";
import { attributesOf, type Span } from "./span.ts";

/** In one request. */
const BATCH = 500;
/** While the collector is away; the oldest go first. */
const KEPT = 5_000;
const SEND_MS = 4_000;

interface ExporterOptions extends Pick<TelemetryConfig, "headers" | "serviceName"> {
  otlp: string;
  version: string;
  log: Logger;
}

interface Problem {
  why: string;
  /** The same spans may be sent again. */
  again: boolean;
}

/** `http://host:4318` means its `/v1/traces`. */
export function tracesUrl(otlp: string): string {
  const url = new URL(otlp);
  if (!url.pathname.endsWith("/v1/traces"))
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #url: string;
  #waiting: Span[] = [];
  #lost = 0;
  #isAway = false;
  #sending: Promise<void> | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = tracesUrl(options.otlp);
  }

  add(span: Span): void {
    this.#waiting.push(span);
    // Cut in blocks: shifting one by one would cost a copy for each span.
    if (this.#waiting.length < KEPT + BATCH) return;
    this.#waiting = this.#waiting.slice(-KEPT);
    this.#lost += BATCH;
  }

  /** Sends what waits, or joins a sending that is under way. Never rejects. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      const problem = await this.#send(batch);
      if (problem === undefined) {
        this.#report(undefined);
        continue;
      }
      this.#report(problem);
      if (!problem.again) {
        this.#lost += batch.length;
        continue;
      }
      const waiting = [...batch, ...this.#waiting];
      this.#waiting = waiting.slice(-KEPT);
      this.#lost += waiting.length - this.#waiting.length;
      return;
    }
  }

  async #send(spans: readonly Span[]): Promise<Problem | undefined> {
    const { headers, serviceName, version } = this.#options;
    const resource = {
      attributes: attributesOf({ "service.name": serviceName, "service.version": version }),
    };
    const scopeSpans = [{ scope: { name: "portico", version }, spans }];
    try {
      const { status } = await guardedFetch(createOwnerGuard(this.#url), this.#url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        timeoutMs: SEND_MS,
        redirects: 0,
        headOnly: true,
      });
      if (status >= 200 && status <= 299) return undefined;
      return { why: `it answered ${status}`, again: status === 429 || status >= 500 };
    } catch (error) {
      const { code, cause } = error as { code: string; cause?: { code?: string } };
      return { why: cause?.code ?? code, again: true };
    }
  }

  /** Said once when the collector takes none, and once when it does again. */
  #report(problem: Problem | undefined): void {
    if (this.#isAway === (problem !== undefined)) return;
    this.#isAway = problem !== undefined;
    const { log } = this.#options;
    if (problem === undefined)
      log.info({ lost: this.#lost }, "the collector of telemetry.otlp accepts traces again");
    else
      log.warn(
        { why: problem.why, kept: problem.again },
        "the collector of telemetry.otlp does not accept traces",
      );
    this.#lost = 0;
  }
}
