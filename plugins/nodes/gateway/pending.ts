/** One request that a node has not answered yet, and how long that may take. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { Incoming } from "../incoming.ts";
import type { BrowserResponse } from "portico/browser";
import { STALL_MS } from "../wire.ts";
import type { Packed } from "./request-files.ts";

interface PendingOptions {
  /** The node's name. */
  node: string;
  packed: Packed;
  /** How long the browser may work until the answer begins, ms; the time that files take does not count. */
  deadlineMs: number;
  /** Once, however it ended. */
  over(): void;
  /** The node need not continue, because this side gave up. */
  gaveUp(): void;
}

export class Pending {
  readonly packed: Packed;
  readonly answer: Promise<BrowserResponse>;
  /** Files of the answer, by the number of their stream. */
  readonly incoming = new Map<number, Incoming>();
  readonly #options: PendingOptions;
  #timer: NodeJS.Timeout | undefined;
  #transfer: "to" | "from" | undefined;
  #isOver = false;
  #resolve!: (answer: BrowserResponse) => void;
  #reject!: (error: unknown) => void;

  constructor(options: PendingOptions) {
    this.#options = options;
    this.packed = options.packed;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The request's files are on their way: from now on silence counts, not the deadline. */
  sending(): void {
    this.#transfer = "to";
    this.#awaitPart();
  }

  /** The node has everything: its time runs. */
  sent(): void {
    if (this.isAnswering) return;
    this.#transfer = undefined;
    const { node, deadlineMs } = this.#options;
    this.#within(deadlineMs, () => errors.noAnswer({ name: node, ms: deadlineMs }));
  }

  get isAnswering(): boolean {
    return this.#transfer === "from";
  }

  /** The answer has begun, and may have files. */
  answering(answer: Promise<BrowserResponse>): void {
    this.#transfer = "from";
    this.#awaitPart();
    answer.then(
      (value) => {
        if (this.#end()) this.#resolve(value);
      },
      (error) => this.giveUp(error),
    );
  }

  /** A part of a file has come, or left. */
  moved(): void {
    if (this.#transfer !== undefined) this.#awaitPart();
  }

  /** It ended on the node's side, or with the connection. */
  fail(error: unknown): void {
    if (!this.#end()) return;
    for (const incoming of this.incoming.values()) void incoming.fail(error);
    this.#reject(error);
  }

  giveUp(error: unknown): void {
    if (!this.#isOver) this.#options.gaveUp();
    this.fail(error);
  }

  #awaitPart(): void {
    const { node } = this.#options;
    const stalled = this.#transfer === "to" ? errors.uploadStalled : errors.downloadStalled;
    this.#within(STALL_MS, () => stalled({ name: node, ms: STALL_MS }));
  }

  #within(ms: number, timeout: () => PorticoError): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = setTimeout(() => this.giveUp(timeout()), ms);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#options.over();
    return true;
  }
}
