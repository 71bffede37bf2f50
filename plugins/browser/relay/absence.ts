/**
 * Tracks the time in which the extension is disconnected. The browser may end the extension's worker at any time. The
 * worker returns within moments and its tabs remain attached, so the tabs are hidden and commands wait meanwhile. A
 * page of the extension outlives the worker: while its socket (the presence) is open, the browser runs, however slow
 * the machine is.
 */
import { closeSocket, type WebSocket } from "../net/web-socket.ts";

/** The time in ms that the worker may be away, with an open presence socket and without one. */
const AWAY_MS = { present: 30_000, unknown: 3_000 };
export type AwayMs = typeof AWAY_MS;

export class Absence {
  readonly #onGiveUp: () => void;
  readonly #ms: AwayMs;
  #presence: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOn = false;
  #waiters: (() => void)[] = [];

  /** Calls `onGiveUp` if the extension does not return in time. */
  constructor(onGiveUp: () => void, ms = AWAY_MS) {
    this.#onGiveUp = onGiveUp;
    this.#ms = ms;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
    this.#restartTimer();
  }

  end(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
    for (const resume of this.#waiters.splice(0)) resume();
  }

  /** Resolves when the extension is back or its tabs are given up. */
  async waitUntilEnded(): Promise<void> {
    if (this.#isOn) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Adopts the socket as the presence and closes the previous one. */
  adoptPresence(socket: WebSocket): void {
    const previous = this.#presence;
    this.#presence = socket;
    if (previous !== undefined) closeSocket(previous, 1000, "The page has connected again.");
    socket.once("close", () => {
      if (this.#presence !== socket) return;
      this.#presence = undefined;
      if (this.#isOn) this.#restartTimer();
    });
    if (this.#isOn) this.#restartTimer();
  }

  #restartTimer(): void {
    clearTimeout(this.#timer);
    const ms = this.#presence === undefined ? this.#ms.unknown : this.#ms.present;
    this.#timer = setTimeout(() => {
      this.#onGiveUp();
      this.end();
    }, ms).unref();
  }

  /** Closes the presence and resumes all waiters, because the gateway stops or its secret has changed. */
  close(reason: string): void {
    this.end();
    if (this.#presence !== undefined) closeSocket(this.#presence, 1001, reason);
  }
}
