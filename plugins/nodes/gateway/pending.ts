/** A request that a node has not answered yet, with its timeouts. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { Incoming } from "../incoming.ts";
import type { BrowserResponse } from "portico/browser";
import { STALL_MS } from "../wire.ts";
import type { PackedRequest } from "./request-files.ts";

interface PendingOptions {
  /** The node's name. */
  node: string;
  packed: PackedRequest;
  /** The time that the browser has until the answer begins, in ms. Transfers of files do not count. */
  deadlineMs: number;
  /** Called once when the request ends, whether it succeeded or failed. */
  onEnd(): void;
  /** Called when this side gives up, so the node can stop working on the request. */
  onGiveUp(): void;
}

export class Pending {
  readonly packed: PackedRequest;
  readonly answer: Promise<BrowserResponse>;
  /** Files of the answer, by stream number. */
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

  /** Starts the transfer of the request's files. Until it ends, the stall timeout applies instead of the deadline. */
  startSending(): void {
    this.#transfer = "to";
    this.#startStallTimeout();
  }

  /** Starts the deadline, since the node has received the whole request. */
  startDeadline(): void {
    if (this.isAnswering) return;
    this.#transfer = undefined;
    const { node, deadlineMs } = this.#options;
    this.#startTimeout(deadlineMs, () => errors.noAnswer({ name: node, ms: deadlineMs }));
  }

  get isAnswering(): boolean {
    return this.#transfer === "from";
  }

  /** Resolves the request with `answer`, whose files may still be arriving. */
  receiveAnswer(answer: Promise<BrowserResponse>): void {
    this.#transfer = "from";
    this.#startStallTimeout();
    answer.then(
      (value) => {
        if (this.#end()) this.#resolve(value);
      },
      (error) => this.giveUp(error),
    );
  }

  /** Restarts the stall timeout, since a part of a file was received or sent. */
  noteProgress(): void {
    if (this.#transfer !== undefined) this.#startStallTimeout();
  }

  /** Fails the request because the node reported an error or the connection ended. */
  fail(error: unknown): void {
    if (!this.#end()) return;
    for (const incoming of this.incoming.values()) void incoming.fail(error);
    this.#reject(error);
  }

  giveUp(error: unknown): void {
    if (!this.#isOver) this.#options.onGiveUp();
    this.fail(error);
  }

  #startStallTimeout(): void {
    const { node } = this.#options;
    const stallError = this.#transfer === "to" ? errors.uploadStalled : errors.downloadStalled;
    this.#startTimeout(STALL_MS, () => stallError({ name: node, ms: STALL_MS }));
  }

  #startTimeout(ms: number, timeout: () => PorticoError): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = setTimeout(() => this.giveUp(timeout()), ms);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#options.onEnd();
    return true;
  }
}
