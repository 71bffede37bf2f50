/** Checks each request before it leaves, if the policy is strict and no proxy of ours filters the browser's traffic. */
import type { Guard } from "portico/egress";
import type { Attachment } from "../drivers/attach.ts";
import type { BrowserContext, Route } from "../drivers/playwright.ts";

interface RequestCheckOptions {
  attachment: Attachment;
  /** Absent without the library; then no request can be checked. */
  context?: BrowserContext | undefined;
  guard: Guard;
  /** True if the policy forbids more than our own ports. */
  isStrict(): boolean;
}

export class RequestCheck {
  readonly #options: RequestCheckOptions;
  #isOn = false;

  constructor(options: RequestCheckOptions) {
    this.#options = options;
  }

  /** Begins or ends the interception of requests, as the current policy requires. */
  async applyPolicy(): Promise<void> {
    const { context, attachment, isStrict } = this.#options;
    const shouldBeOn = attachment.egress === "best-effort" && isStrict();
    if (context === undefined || shouldBeOn === this.#isOn) return;
    this.#isOn = shouldBeOn;
    await (shouldBeOn
      ? context.route("**/*", this.#checkRequest)
      : context.unroute("**/*", this.#checkRequest));
  }

  /** Checks one request. Redirects and WebSockets are not intercepted here. */
  readonly #checkRequest = async (route: Route): Promise<void> => {
    try {
      const url = route.request().url();
      if (/^https?:/.test(url)) await this.#options.guard.checkUrl(url);
      await route.continue();
    } catch {
      await route.abort("blockedbyclient").catch(() => {});
    }
  };
}
