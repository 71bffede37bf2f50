/**
 * Handles the dialogs of a tab (alert, confirm, prompt, beforeunload): with the response armed in advance, else by
 * dismissing. All are recorded.
 */
import { pause } from "../deadline.ts";
import { stripControlCharacters } from "../failures.ts";
import type { Dialog, Page } from "../drivers/playwright.ts";
import { Ring } from "./ring.ts";

interface DialogResponse {
  accept: boolean;
  promptText?: string;
}

interface DialogRecord {
  type: string;
  message: string;
  handled: "accepted" | "dismissed";
  /** False if no response was set in advance. */
  armed: boolean;
  at: number;
}

/** The number of dialogs in a row after which a page that opens them endlessly is slowed down. */
const MAX_STREAK = 10;

export class Dialogs {
  readonly #records = new Ring<DialogRecord>(50);
  #armedResponse: { response: DialogResponse; until: number } | undefined;
  #streak = 0;
  #last = 0;

  constructor(page: Page) {
    page.on("dialog", (dialog) => void this.#handle(dialog).catch(() => {}));
  }

  /** Sets the response to the next dialog within `forMs`. */
  arm(response: DialogResponse, forMs: number): void {
    this.#armedResponse = { response, until: Date.now() + forMs };
  }

  recordsSince(at: number): DialogRecord[] {
    return this.#records.list().filter((dialog) => dialog.at >= at);
  }

  async #handle(dialog: Dialog): Promise<void> {
    const now = Date.now();
    const response =
      this.#armedResponse !== undefined && this.#armedResponse.until >= now
        ? this.#armedResponse.response
        : undefined;
    this.#armedResponse = undefined;
    // A `beforeunload` dialog would block every navigation, and the caller has already asked to leave.
    const accept = response?.accept ?? dialog.type() === "beforeunload";
    const message = stripControlCharacters(dialog.message()).slice(0, 2000);
    this.#records.push({
      type: dialog.type(),
      message,
      handled: accept ? "accepted" : "dismissed",
      armed: response !== undefined,
      at: now,
    });
    this.#streak = now - this.#last < 500 ? this.#streak + 1 : 0;
    this.#last = now;
    if (this.#streak > MAX_STREAK) await pause(Math.min(400, 20 * (this.#streak - MAX_STREAK)));
    // Without a `promptText`, the default value of the page is accepted.
    if (accept) await dialog.accept(response?.promptText ?? dialog.defaultValue());
    else await dialog.dismiss();
  }
}
