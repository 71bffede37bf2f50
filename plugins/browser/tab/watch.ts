/**
 * Records the console messages, errors and requests of a tab. The rings bound the memory that a chatty page can use.
 */
import { stripControlCharacters } from "../failures.ts";
import type { Page, Request, Response } from "../drivers/playwright.ts";
import { Ring } from "./ring.ts";

export interface ConsoleEntry {
  level: "debug" | "info" | "warning" | "error";
  /** The console method: `log`, `table`, … */
  type: string;
  text: string;
  url?: string;
  line?: number;
  at: number;
}

interface ErrorEntry {
  message: string;
  name: string;
  at: number;
}

interface RequestEntry {
  id: string;
  method: string;
  url: string;
  resourceType: string;
  status: number | null;
  /** The error of a failed request, else null. */
  failure: string | null;
  /** The start of the request in milliseconds since the epoch. */
  startedAt: number;
  ms: number | null;
}

const LEVELS: Record<string, ConsoleEntry["level"]> = {
  error: "error",
  assert: "error",
  warning: "warning",
  debug: "debug",
};
const clip = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;

export class TabWatch {
  readonly console = new Ring<ConsoleEntry>(500);
  readonly errors = new Ring<ErrorEntry>(200);
  readonly requests = new Ring<RequestEntry>(500);
  readonly #responses = new Ring<Response>(200);
  readonly #entries = new WeakMap<Request, RequestEntry>();
  #count = 0;

  constructor(page: Page) {
    page.on("console", (message) => {
      const type = message.type();
      const { url, lineNumber } = message.location();
      const location = url === "" ? {} : { url: clip(url, 500), line: lineNumber };
      this.console.push({
        level: LEVELS[type] ?? "info",
        type,
        text: clip(stripControlCharacters(message.text()), 4000),
        ...location,
        at: Date.now(),
      });
    });
    page.on("pageerror", (error) => {
      this.errors.push({
        name: error.name,
        message: clip(stripControlCharacters(error.message), 4000),
        at: Date.now(),
      });
    });
    page.on("request", (request) => {
      const entry: RequestEntry = {
        id: String(++this.#count),
        method: request.method(),
        url: clip(request.url(), 2000),
        resourceType: request.resourceType(),
        status: null,
        failure: null,
        startedAt: Date.now(),
        ms: null,
      };
      this.#entries.set(request, entry);
      this.requests.push(entry);
    });
    page.on("response", (response) => {
      const entry = this.#entries.get(response.request());
      if (entry !== undefined) entry.status = response.status();
      this.#responses.push(response);
    });
    page.on("requestfinished", (request) => this.#end(request, null));
    page.on("requestfailed", (request) =>
      this.#end(request, request.failure()?.errorText ?? "failed"),
    );
  }

  /** Returns the newest matching response. */
  lastResponse(matches: (url: string) => boolean): Response | undefined {
    return this.#responses.list().findLast((response) => matches(response.url()));
  }

  #end(request: Request, failure: string | null): void {
    const entry = this.#entries.get(request);
    if (entry === undefined) return;
    entry.failure = failure;
    entry.ms = Date.now() - entry.startedAt;
  }
}
