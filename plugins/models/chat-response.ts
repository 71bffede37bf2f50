/** The forms of a response. */
import type { IncomingHttpHeaders } from "node:http";
import {
  type ChatCompletion,
  type NativeForm,
  newCompletionId,
  NO_TOKENS,
  readCompletion,
  type Usage,
} from "portico/provider";
import type { ByteStream, PartStream } from "./streams/flow.ts";

/** A whole response, a stream of parts, or a stream of bytes that pass through. */
export interface ChatResponse {
  /** The bytes of a whole response, ready to be sent. */
  body?: Buffer;
  /** The parsed response; absent until something needs it. */
  completion?: ChatCompletion | undefined;
  /** The usage of a whole response, if it is known without parsing `completion`. */
  usage?: Usage | undefined;
  /** The response to a request for a stream. */
  stream?: PartStream;
  /** The response of a route other than chat, or a whole response that is too large for memory. */
  bytes?: ByteStream;
  /** The upstream's headers of a stream. */
  headers?: IncomingHttpHeaders;
  /** `body` is in the format of the job's native request. `completion` is still in OpenAI's format. */
  native?: boolean;
  /** Finds the texts in a native `body` that handlers can change. See `NativeForm`. */
  nativeTexts?: NativeForm["texts"];
  firstByteMs: number;
}

/** Returns the parsed response. Parses it at first use. */
export function completionOf(response: ChatResponse): ChatCompletion {
  response.completion ??= readCompletion(response.body!, {
    id: newCompletionId(),
    created: Math.floor(Date.now() / 1000),
    model: "",
  }).completion;
  return response.completion;
}

/**
 * Serialises a response of the gateway's own. Many clients read the usage unconditionally, so it is included even if
 * nobody counted it.
 */
export function completionBytes(completion: ChatCompletion): Buffer {
  return Buffer.from(
    JSON.stringify(completion.usage == null ? { ...completion, usage: NO_TOKENS } : completion),
  );
}
