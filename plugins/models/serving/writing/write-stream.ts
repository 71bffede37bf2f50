/** Writes a streamed response: as fast as the client reads, with comments in the silence. */
import { type Call, isPorticoError, type PorticoError, type Workers } from "portico";
import type { StreamEncoder } from "portico/provider";
import type { Flow, PartStream } from "../../streams/flow.ts";
import { LastWords } from "./last-words.ts";
import { ResponseWriter } from "./response-writer.ts";
import { errors } from "../../errors.ts";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** What a stream is written as. */
export interface Written<T> {
  /** More of it. */
  write(items: readonly T[]): readonly (Buffer | string)[];
  /** Its end. */
  end(): string | Buffer | undefined | Promise<string>;
  /** In place of its end, where it broke off. Undefined: the client can only see it from the connection. */
  fail(error: PorticoError): string | Buffer | undefined;
  /** An error as an event, for a client whose worker is killed. */
  error?: ((error: PorticoError) => string | Buffer) | undefined;
  /** Comments may be put in between. */
  hasComments: boolean;
}

export interface PartsOptions {
  workers: Workers | undefined;
  /** An error as the client understands it. */
  errorFor(error: PorticoError): PorticoError;
}

/** Writes the parts of a response in the form that an encoder gives them. `writeHead` has been called. */
export function writeParts(
  call: Call,
  source: PartStream,
  encoder: StreamEncoder,
  { workers, errorFor }: PartsOptions,
): Promise<void> {
  const written: Written<Parameters<StreamEncoder["write"]>[0][number]> = {
    write: (parts) => [encoder.write(parts)],
    end: () => encoder.end(),
    fail: (error) => encoder.fail(errorFor(error)),
    error: encoder.error === undefined ? undefined : (error) => encoder.error!(error),
    hasComments: true,
  };
  return writeStream(call, source, written, workers);
}

/** Resolves when the response is over, from either side. `writeHead` has been called. */
export async function writeStream<T>(
  call: Call,
  source: Flow<T>,
  written: Written<T>,
  workers: Workers | undefined,
): Promise<void> {
  const { res } = call;
  // The response of a client that has disconnected emits no further `close`.
  if (res.destroyed) {
    source.cancel();
    return;
  }
  let isClosed = false;
  // Continues the copying, which waits for a slow client.
  let proceed = (): void => {};
  const closed = new Promise<void>((resolve) => {
    res.once("close", () => {
      isClosed = true;
      proceed();
      resolve();
    });
  });
  const lastWords = LastWords.of(workers, written.error);
  const out = new ResponseWriter(res, written.hasComments, () => proceed(), lastWords);
  const state = { over: false };
  const fail = (error: PorticoError): void => {
    if (state.over) return;
    state.over = true;
    const last = lastOf(written, error, call);
    if (last === undefined) res.destroy();
    else out.end(last);
  };
  call.onCut(() => {
    fail(errors.gatewayStopped());
    source.cancel();
  });
  const waitForClient = () =>
    new Promise<void>((resolve) => {
      if (isClosed) resolve();
      else proceed = resolve;
    });
  try {
    await copy(source, written, out, state, waitForClient);
  } catch (error) {
    source.cancel();
    if (!state.over && !res.destroyed) failWith(error, call, fail);
  }
  await closed;
  out.stop();
}

async function copy<T>(
  source: Flow<T>,
  written: Written<T>,
  out: ResponseWriter,
  state: { over: boolean },
  waitForClient: () => Promise<void>,
): Promise<void> {
  for await (const items of source) {
    if (state.over) return;
    let isOpen = true;
    for (const bytes of written.write(items)) isOpen = out.write(bytes);
    if (!isOpen) await waitForClient();
  }
  if (state.over) return;
  const ending = written.end();
  const last = ending instanceof Promise ? await ending : ending;
  if (state.over) return;
  state.over = true;
  out.end(last);
}

/** Undefined where the encoder has none, or breaks over it. */
function lastOf<T>(
  written: Written<T>,
  error: PorticoError,
  { log }: Call,
): string | Buffer | undefined {
  try {
    return written.fail(error);
  } catch (err) {
    log.error({ err }, "an error could not be translated");
    return undefined;
  }
}

/** What is no error of a request is a bug of the encoder's. */
function failWith(error: unknown, { log }: Call, fail: (error: PorticoError) => void): void {
  if (isPorticoError(error)) {
    fail(error);
    return;
  }
  log.error({ err: error }, "a stream could not be translated");
  fail(errors.streamNotWritten());
}
