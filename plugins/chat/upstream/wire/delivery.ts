/** What lies between an upstream's stream and its caller: what came before he was there, and who holds whom up. */
import type { PorticoError } from "portico";
import type { Sink } from "../../job.ts";

/** How much may wait for a caller who has not begun to read. */
const EARLY_BYTES = 64 * 1024;

export interface Flow {
  pause(): void;
  resume(): void;
}

export class Delivery {
  readonly #flow: Flow;
  #sink: Sink | undefined;
  #early: Buffer[] = [];
  #size = 0;
  #paused = false;
  /** What came to its end before the sink was there. */
  #ended: { error: PorticoError | undefined } | undefined;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  write(bytes: Buffer): void {
    if (this.#sink !== undefined) {
      if (!this.#sink.write(bytes)) this.#pause();
      return;
    }
    this.#early.push(bytes);
    this.#size += bytes.length;
    if (this.#size > EARLY_BYTES) this.#pause();
  }

  end(error?: PorticoError): void {
    if (this.#sink === undefined) this.#ended = { error };
    else finish(this.#sink, error);
  }

  start(sink: Sink): void {
    this.#sink = sink;
    const early = this.#early;
    this.#early = [];
    let open = true;
    for (const bytes of early) open = sink.write(bytes) && open;
    if (this.#ended !== undefined) finish(sink, this.#ended.error);
    else if (!open) this.#pause();
    else this.resume();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#flow.resume();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#flow.pause();
  }
}

function finish(sink: Sink, error: PorticoError | undefined): void {
  if (error === undefined) sink.end();
  else sink.fail(error);
}
