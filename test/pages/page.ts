/** A page of a component library that is operated only by refs. */
import type { Answer, BrowserTab } from "../plugins/browser/support.ts";

/** The gateway refused an action. */
export class Refusal extends Error {}

/** The gateway answered 200, but the page has another value. */
export class Mismatch extends Error {}

/** The time in ms that a page may need to render a change. */
const RENDER_MS = 1_000;

export class LibraryPage {
  readonly #tab: BrowserTab;

  constructor(tab: BrowserTab) {
    this.#tab = tab;
  }

  /** Returns the ref of the first matching line, in the interactive view or else in the full one. */
  async ref(line: RegExp): Promise<string> {
    const interactive = (await this.#tab.get("/snapshot", { interactive: true })).body.snapshot;
    const full = (await this.#tab.get("/snapshot")).body.snapshot;
    const lines = `${interactive}\n${full}`.split("\n");
    const match = lines.find((text) => line.test(text) && text.includes("[ref="));
    const ref = /\[ref=(\w+)\]/.exec(match ?? "")?.[1];
    if (ref === undefined) throw new Refusal(`no line ${line} with a ref in:\n${full}`);
    return ref;
  }

  async act(kind: string, fields: Record<string, unknown>): Promise<Answer> {
    const answer = await this.#tab.act(kind, fields);
    if (answer.status !== 200)
      throw new Refusal(`${kind}: ${answer.status} ${answer.body.error.message}`);
    return answer;
  }

  async expectRefusal(kind: string, fields: Record<string, unknown>): Promise<void> {
    const answer = await this.#tab.act(kind, fields);
    if (answer.status !== 422) throw new Mismatch(`${kind}: ${answer.status} instead of 422`);
  }

  async click(line: RegExp): Promise<void> {
    await this.act("click", { ref: await this.ref(line) });
  }

  async type(line: RegExp, text: string, options: Record<string, unknown> = {}): Promise<void> {
    await this.act("type", { ref: await this.ref(line), text, ...options });
  }

  async fill(line: RegExp, value: unknown): Promise<void> {
    await this.act("fill", { fields: [{ ref: await this.ref(line), value }] });
  }

  async press(key: string, line?: RegExp): Promise<void> {
    const place = line === undefined ? {} : { ref: await this.ref(line) };
    await this.act("press", { key, ...place });
  }

  async drag(from: RegExp, to: RegExp, options: Record<string, unknown> = {}): Promise<void> {
    const refs = { startRef: await this.ref(from), endRef: await this.ref(to) };
    await this.act("drag", { ...refs, ...options });
  }

  async upload(line: RegExp, paths: string[]): Promise<void> {
    await this.act("upload", { ref: await this.ref(line), paths });
  }

  /** Compares the page's value, or one member of it. */
  async expect(value: unknown, member?: string): Promise<void> {
    const expected = JSON.stringify(value);
    const fn = member === undefined ? "held()" : `held()[${JSON.stringify(member)}]`;
    const start = Date.now();
    for (;;) {
      const actual = JSON.stringify((await this.act("evaluate", { fn })).body.result);
      if (actual === expected) return;
      if (Date.now() - start > RENDER_MS)
        throw new Mismatch(`answered 200, and the page holds ${actual} instead of ${expected}`);
    }
  }
}
