/** A `Target` for tests that call a provider directly, and helpers that read its output. */
import type {} from "portico/models";
import {
  type ChatChunk,
  parseDataUrl,
  type PartDecoder,
  type Target,
  type WireRequest,
} from "portico/provider";
import { quietLog } from "./quiet-log.ts";
import { StreamRecoder } from "./recoded.ts";

export function makeTarget(fields: Partial<Target> = {}): Target {
  return {
    channel: "main",
    model: "test-model",
    baseUrl: "http://127.0.0.1:1",
    apiKey: "test-key",
    headers: {},
    options: {},
    log: quietLog(),
    signal: new AbortController().signal,
    id: "chatcmpl-test",
    created: 1_700_000_000,
    async request() {
      throw new Error("no request is expected");
    },
    async fetchImage(url) {
      const image = parseDataUrl(url) ?? {
        mediaType: "image/png",
        data: Buffer.from(`bytes of ${url}`),
      };
      return image;
    },
    ...fields,
  };
}

/** Returns the `param` of the 400 with which `work` must reject. */
export async function refusedParam(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
  } catch (error) {
    const { status, param } = error as { status?: number; param?: string };
    if (status !== 400) throw error;
    return param;
  }
  throw new Error("was not refused");
}

/**
 * Returns a recoder for a request's stream: from its provider's format to the form that a client of OpenAI's format
 * receives.
 */
export function recode(
  { parts }: { parts?(sent: WireRequest, target: Target): PartDecoder },
  sent: WireRequest,
  target: Target,
): StreamRecoder {
  const { id, created, model } = target;
  const { includeUsage = false } = (sent.state ?? {}) as { includeUsage?: boolean };
  return new StreamRecoder({ id, created, model, includeUsage }, parts!(sent, target));
}

/** Returns everything that a decoder writes for these pieces. */
export function decodeAll(
  decoder: Pick<StreamRecoder, "push" | "end">,
  pieces: readonly Buffer[],
): string {
  const out: string[] = [];
  for (const piece of pieces) out.push(decoder.push(piece)?.toString("utf8") ?? "");
  out.push(decoder.end()?.toString("utf8") ?? "");
  return out.join("");
}

/** Parses the chunks of an OpenAI stream, which must end with `[DONE]`. */
export function readChunks(stream: string): ChatChunk[] {
  const events = stream.split("\n\n").filter((event) => event !== "");
  if (events.pop() !== "data: [DONE]")
    throw new Error(`the stream does not end with [DONE]: ${stream.slice(-200)}`);
  return events.map((event) => JSON.parse(event.replace(/^data: /, "")) as ChatChunk);
}

/**
 * Decodes a stream as a whole, cut in two at every byte, and byte by byte. Throws unless the result is the same each time.
 * Returns the chunks.
 */
export function decodeCutAnywhere(
  make: () => Pick<StreamRecoder, "push" | "end">,
  stream: Buffer,
): ChatChunk[] {
  const whole = decodeAll(make(), [stream]);
  for (let at = 1; at < stream.length; at++) {
    const cut = decodeAll(make(), [stream.subarray(0, at), stream.subarray(at)]);
    if (cut !== whole) throw new Error(`cut at byte ${at}:\n${cut}\ninstead of\n${whole}`);
  }
  const bytes = decodeAll(
    make(),
    Array.from(stream, (_, i) => stream.subarray(i, i + 1)),
  );
  if (bytes !== whole) throw new Error(`byte by byte:\n${bytes}\ninstead of\n${whole}`);
  return readChunks(whole);
}

/** Returns a value in its JSON form, without undefined members. */
export function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
