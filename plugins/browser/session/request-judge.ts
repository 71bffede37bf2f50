/** Where no proxy of ours stands between, a strict policy has each request judged before it leaves. */
import type { Guard } from "portico/egress";
import type { Attachment } from "../drivers/attach.ts";
import type { BrowserContext, Route } from "../drivers/playwright.ts";

interface RequestJudgeOptions {
  attachment: Attachment;
  /** Absent without the library: then nothing can be judged. */
  context?: BrowserContext | undefined;
  guard: Guard;
  /** The policy forbids more than our own ports. */
  strict(): boolean;
}

export class RequestJudge {
  readonly #options: RequestJudgeOptions;
  #isOn = false;

  constructor(options: RequestJudgeOptions) {
    this.#options = options;
  }

  /** Begins or ends, as the policy is now. */
  async follow(): Promise<void> {
    const { context, attachment, strict } = this.#options;
    const wanted = attachment.egress === "best-effort" && strict();
    if (context === undefined || wanted === this.#isOn) return;
    this.#isOn = wanted;
    await (wanted ? context.route("**/*", this.#judge) : context.unroute("**/*", this.#judge));
  }

  /** What a request is redirected to is not seen here, and neither are WebSockets. */
  readonly #judge = async (route: Route): Promise<void> => {
    try {
      const url = route.request().url();
      if (/^https?:/.test(url)) await this.#options.guard.checkUrl(url);
      await route.continue();
    } catch {
      await route.abort("blockedbyclient").catch(() => {});
    }
  };
}
