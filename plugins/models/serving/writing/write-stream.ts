/** Writes a streamed response as fast as the client reads it, with comments during silence. */
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

/** Encodes the items of a stream for the client. */
export interface StreamWriter<T> {
  /** Encodes further items. */
  write(items: readonly T[]): readonly (Buffer | string)[];
  /** Encodes the end of the stream. */
  end(): string | Buffer | undefined | Promise<string>;
  /** Encodes an error in place of the end. Undefined if the client can recognise it only by the closed connection. */
  fail(error: PorticoError): string | Buffer | undefined;
  /** Encodes an error as an event, for a client whose worker is killed. */
  error?: ((error: PorticoError) => string | Buffer) | undefined;
  /** Comments may be written between the items. */
  hasComments: boolean;
}

export interface PartsOptions {
  workers: Workers | undefined;
  /** Converts an error to the client's format. */
  errorFor(error: PorticoError): PorticoError;
}

/** Writes the parts of a response with the client's encoder. `writeHead` must have been called. */
export function writeParts(
  call: Call,
  source: PartStream,
  encoder: StreamEncoder,
  { workers, errorFor }: PartsOptions,
): Promise<void> {
  const writer: StreamWriter<Parameters<StreamEncoder["write"]>[0][number]> = {
    write: (parts) => [encoder.write(parts)],
    end: () => encoder.end(),
    fail: (error) => encoder.fail(errorFor(error)),
    error: encoder.error === undefined ? undefined : (error) => encoder.error!(error),
    hasComments: true,
  };
  return writeStream(call, source, writer, workers);
}

/** Writes a stream. Resolves when the response has closed, from either side. `writeHead` must have been called. */
export async function writeStream<T>(
  call: Call,
  source: Flow<T>,
  writer: StreamWriter<T>,
  workers: Workers | undefined,
): Promise<void> {
  const { res } = call;
  // If the client has disconnected already, the response emits no further `close`.
  if (res.destroyed) {
    source.cancel();
    return;
  }
  let isClosed = false;
  // Resumes the copying that waits for a slow client.
  let proceed = (): void => {};
  const closed = new Promise<void>((resolve) => {
    res.once("close", () => {
      isClosed = true;
      proceed();
      resolve();
    });
  });
  const lastWords = LastWords.of(workers, writer.error);
  const out = new ResponseWriter(res, writer.hasComments, () => proceed(), lastWords);
  const state = { hasEnded: false };
  const fail = (error: PorticoError): void => {
    if (state.hasEnded) return;
    state.hasEnded = true;
    const last = encodeFailure(writer, error, call);
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
    await copy(source, writer, out, state, waitForClient);
  } catch (error) {
    source.cancel();
    if (!state.hasEnded && !res.destroyed) failWith(error, call, fail);
  }
  await closed;
  out.stop();
}

async function copy<T>(
  source: Flow<T>,
  writer: StreamWriter<T>,
  out: ResponseWriter,
  state: { hasEnded: boolean },
  waitForClient: () => Promise<void>,
): Promise<void> {
  for await (const items of source) {
    if (state.hasEnded) return;
    let isOpen = true;
    for (const bytes of writer.write(items)) isOpen = out.write(bytes);
    if (!isOpen) await waitForClient();
  }
  if (state.hasEnded) return;
  const ending = writer.end();
  const last = ending instanceof Promise ? await ending : ending;
  if (state.hasEnded) return;
  state.hasEnded = true;
  out.end(last);
}

/** Encodes the last event. Returns undefined if the encoder has none or fails. */
function encodeFailure<T>(
  writer: StreamWriter<T>,
  error: PorticoError,
  { log }: Call,
): string | Buffer | undefined {
  try {
    return writer.fail(error);
  } catch (err) {
    log.error({ err }, "an error could not be converted to the format of the client's API");
    return undefined;
  }
}

/** Any error other than a `PorticoError` is a bug of the encoder. */
function failWith(error: unknown, { log }: Call, fail: (error: PorticoError) => void): void {
  if (isPorticoError(error)) {
    fail(error);
    return;
  }
  log.error({ err: error }, "a stream could not be converted to the format of the client's API");
  fail(errors.streamNotWritten());
}
