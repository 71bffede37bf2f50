/**
 * The time in which the extension is away. Its browser may end the extension's worker at any time; it is back within
 * moments, and its tabs are still attached: nothing shows them, and commands wait. A page of the extension's outlives
 * the worker: the socket that it holds (its presence) says that the browser runs, however slow the machine is.
 */
import { closeSocket, type WebSocket } from "../net/web-socket.ts";

/** How long the worker may be away: with a presence, and without one; ms. */
const AWAY_MS = { present: 30_000, unknown: 3_000 };
export type AwayMs = typeof AWAY_MS;

export class Absence {
  readonly #gaveUp: () => void;
  readonly #ms: AwayMs;
  #presence: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOn = false;
  #waiters: (() => void)[] = [];

  /** `gaveUp` is called where the extension did not come back. */
  constructor(gaveUp: () => void, ms = AWAY_MS) {
    this.#gaveUp = gaveUp;
    this.#ms = ms;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
    this.#wait();
  }

  over(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
    for (const go of this.#waiters.splice(0)) go();
  }

  /** Settles when the extension is back, or given up. */
  async ended(): Promise<void> {
    if (this.#isOn) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** The latest presence counts. */
  takePresence(socket: WebSocket): void {
    const before = this.#presence;
    this.#presence = socket;
    if (before !== undefined) closeSocket(before, 1000, "The page has connected again.");
    socket.once("close", () => {
      if (this.#presence !== socket) return;
      this.#presence = undefined;
      if (this.#isOn) this.#wait();
    });
    if (this.#isOn) this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const ms = this.#presence === undefined ? this.#ms.unknown : this.#ms.present;
    this.#timer = setTimeout(() => {
      this.#gaveUp();
      this.over();
    }, ms).unref();
  }

  /** The gateway stops, or its secret has changed. */
  leave(reason: string): void {
    this.over();
    if (this.#presence !== undefined) closeSocket(this.#presence, 1001, reason);
  }
}
