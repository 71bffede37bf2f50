/**
 * What lies between an upstream and its caller: the promise that is settled with the response's beginning, what came
 * before the caller began to read, and who slows whom down.
 */
import type { PorticoError } from "portico";
import type { ChatResponse, Sink } from "../../job.ts";
import type { TextSpan } from "../../kit/stream/text-spans.ts";

/** How much may wait for a caller who has not begun to read. */
const EARLY_BYTES = 64 * 1024;
/** While nothing but comments has come, an error may still become an HTTP error; after this the headers go out. */
const COMMENTS_ONLY_MS = 2000;

/** The response that is delivered. */
export interface Delivered {
  /** The beginning of a stream, for its caller. */
  beginning(): ChatResponse;
  pauseUpstream(): void;
  resumeUpstream(): void;
}

/** How the promise of a response is settled. */
export interface Settle {
  resolve(response: ChatResponse): void;
  reject(error: unknown): void;
}

export class Delivery {
  readonly #from: Delivered;
  #settle: Settle | undefined;
  #commentsTimer: NodeJS.Timeout | undefined;
  #sink: Sink | undefined;
  #early: Parameters<Sink["write"]>[] | undefined;
  #size = 0;
  #paused = false;
  /** What came to its end before the sink was there. */
  #ended: { error: PorticoError | undefined } | undefined;

  constructor(from: Delivered, settle: Settle) {
    this.#from = from;
    this.#settle = settle;
  }

  /** Nothing has been promised yet: an error may become an HTTP error. */
  get open(): boolean {
    return this.#settle !== undefined;
  }

  /** Bytes of a stream. `onlyComments`: an error may still follow them as an HTTP error. */
  write(bytes: Buffer, onlyComments: boolean, texts?: readonly TextSpan[]): void {
    if (this.#sink !== undefined) {
      if (!this.#sink.write(bytes, texts)) this.#pause();
      return;
    }
    (this.#early ??= []).push([bytes, texts]);
    this.#size += bytes.length;
    if (this.#size > EARLY_BYTES) this.#pause();
    if (this.#settle === undefined) return;
    if (onlyComments) this.#commentsTimer ??= setTimeout(() => this.begin(), COMMENTS_ONLY_MS);
    else this.begin();
  }

  /** The caller's headers may go out. */
  begin(): void {
    if (this.#settle !== undefined) this.#take().resolve(this.#from.beginning());
  }

  /** A whole response. */
  resolve(response: ChatResponse): void {
    this.#take().resolve(response);
  }

  /** What went wrong before the response began. */
  reject(error: unknown): void {
    this.#take().reject(error);
  }

  /** Nothing more comes of a stream that has begun. */
  end(error?: PorticoError): void {
    if (this.#sink === undefined) this.#ended = { error };
    else finish(this.#sink, error);
  }

  start(sink: Sink): void {
    this.#sink = sink;
    const early = this.#early ?? [];
    this.#early = undefined;
    let open = true;
    for (const [bytes, texts] of early) open = sink.write(bytes, texts) && open;
    if (this.#ended !== undefined) finish(sink, this.#ended.error);
    else if (!open) this.#pause();
    else this.resume();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#from.resumeUpstream();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#from.pauseUpstream();
  }

  #take(): Settle {
    const settle = this.#settle!;
    this.#settle = undefined;
    clearTimeout(this.#commentsTimer);
    return settle;
  }
}

function finish(sink: Sink, error: PorticoError | undefined): void {
  if (error === undefined) sink.end();
  else sink.fail(error);
}
