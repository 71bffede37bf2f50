/** Collects reports of changes until it is quiet, and passes them on as one. */

export interface PendingReportsOptions {
  /** They are passed on after this much quiet … */
  quietMs: number;
  /** … but no later than this after the first of them. */
  capMs: number;
  /** Called at the first of them, before it is quiet; not where any entry may have changed. */
  onStir?: ((entries: readonly string[]) => void) | undefined;
  /** An empty list means any entry. */
  onQuiet(entries: readonly string[]): void;
}

export class PendingReports {
  readonly #options: PendingReportsOptions;
  #entries = new Set<string>();
  #mayBeAny = false;
  #firstAt = 0;
  /** Set while a report waits to be passed on. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PendingReportsOptions) {
    this.#options = options;
  }

  /** `undefined` means any entry. A report that repeats another one does not prolong the wait for quiet. */
  add(entry: string | undefined, isRepeated = false): void {
    if (entry === undefined) this.#mayBeAny = true;
    else this.#entries.add(entry);
    if (this.#timer && isRepeated) return;
    if (!this.#timer) this.#begin();
    const { quietMs, capMs } = this.#options;
    const waitMs = Math.max(0, Math.min(quietMs, this.#firstAt + capMs - Date.now()));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#passOn(), waitMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #begin(): void {
    this.#firstAt = Date.now();
    // Most editors have written all of a file by then.
    setTimeout(() => this.#stir(), this.#options.quietMs / 8).unref();
  }

  #stir(): void {
    if (this.#timer && !this.#mayBeAny) this.#options.onStir?.([...this.#entries]);
  }

  #passOn(): void {
    const entries = this.#mayBeAny ? [] : [...this.#entries];
    this.#timer = undefined;
    this.#entries = new Set();
    this.#mayBeAny = false;
    this.#options.onQuiet(entries);
  }
}
