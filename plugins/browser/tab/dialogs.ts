/** Dialogs of a tab (alert, confirm, prompt, beforeunload): answered as armed beforehand, else dismissed and reported. */
import { pause } from "../deadline.ts";
import { plainText } from "../failures.ts";
import type { Dialog, Page } from "../drivers/playwright.ts";
import { Ring } from "./ring.ts";

interface DialogAnswer {
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

/** From this many in a row on, a page that asks for ever is slowed down. */
const PATIENCE = 10;

export class Dialogs {
  readonly #seen = new Ring<DialogRecord>(50);
  #armed: { answer: DialogAnswer; until: number } | undefined;
  #streak = 0;
  #last = 0;

  constructor(page: Page) {
    page.on("dialog", (dialog) => void this.#handle(dialog).catch(() => {}));
  }

  /** Says what the next dialog gets, within `forMs`. */
  arm(answer: DialogAnswer, forMs: number): void {
    this.#armed = { answer, until: Date.now() + forMs };
  }

  since(at: number): DialogRecord[] {
    return this.#seen.list().filter((dialog) => dialog.at >= at);
  }

  async #handle(dialog: Dialog): Promise<void> {
    const now = Date.now();
    const armed =
      this.#armed !== undefined && this.#armed.until >= now ? this.#armed.answer : undefined;
    this.#armed = undefined;
    // A page that asks whether to leave would hold up every navigation: leaving is what was asked for.
    const accept = armed?.accept ?? dialog.type() === "beforeunload";
    const message = plainText(dialog.message()).slice(0, 2000);
    this.#seen.push({
      type: dialog.type(),
      message,
      handled: accept ? "accepted" : "dismissed",
      armed: armed !== undefined,
      at: now,
    });
    this.#streak = now - this.#last < 500 ? this.#streak + 1 : 0;
    this.#last = now;
    if (this.#streak > PATIENCE) await pause(Math.min(400, 20 * (this.#streak - PATIENCE)));
    // Accepting without a word of one's own is what the page proposes.
    if (accept) await dialog.accept(armed?.promptText ?? dialog.defaultValue());
    else await dialog.dismiss();
  }
}
