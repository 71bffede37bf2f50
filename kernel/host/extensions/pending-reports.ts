/** Collects reports of changes, and passes them on together after a quiet period. */

export interface PendingReportsOptions {
  /** The quiet period after which the reports are passed on. */
  quietMs: number;
  /** The longest time that the first report waits. */
  capMs: number;
  /** Called shortly after the first report, before the quiet period ends; not if any entry may have changed. */
  onFirst?: ((entries: readonly string[]) => void) | undefined;
  /** Called with the entries that changed. An empty list means that any may have. */
  onQuiet(entries: readonly string[]): void;
}

export class PendingReports {
  readonly #options: PendingReportsOptions;
  #entries = new Set<string>();
  #mayBeAny = false;
  #firstAt = 0;
  /** Set while reports wait to be passed on. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PendingReportsOptions) {
    this.#options = options;
  }

  /** `undefined` means any entry. A report that repeats another one does not prolong the wait for quiet. */
  add(entry: string | undefined, isRepeated = false): void {
    if (entry === undefined) this.#mayBeAny = true;
    else this.#entries.add(entry);
    if (this.#timer && isRepeated) return;
    if (!this.#timer) this.#startWaiting();
    const { quietMs, capMs } = this.#options;
    const waitMs = Math.max(0, Math.min(quietMs, this.#firstAt + capMs - Date.now()));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#passOn(), waitMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #startWaiting(): void {
    this.#firstAt = Date.now();
    // By then most editors have written the whole file.
    setTimeout(() => this.#reportFirst(), this.#options.quietMs / 8).unref();
  }

  #reportFirst(): void {
    if (this.#timer && !this.#mayBeAny) this.#options.onFirst?.([...this.#entries]);
  }

  #passOn(): void {
    const entries = this.#mayBeAny ? [] : [...this.#entries];
    this.#timer = undefined;
    this.#entries = new Set();
    this.#mayBeAny = false;
    this.#options.onQuiet(entries);
  }
}
