/** The shapes in which a response comes. */
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

/** Either a whole response, the parts of one, or bytes that pass. */
export interface ChatResponse {
  /** A whole response, as it is to be sent. */
  body?: Buffer;
  /** The same, parsed; absent as long as nothing needs it. */
  completion?: ChatCompletion | undefined;
  /** Of a whole response, where that is known without its `completion`. */
  usage?: Usage | undefined;
  /** What a request for a stream gets. */
  stream?: PartStream;
  /** A route beside chat, or a whole response that is too large to be held. */
  bytes?: ByteStream;
  /** The upstream's headers, of a stream. */
  headers?: IncomingHttpHeaders;
  /** `body` is in the form of the job's native request; `completion` is in OpenAI's all the same. */
  native?: boolean;
  /** The texts in a native `body`, where handlers can change them there: see `NativeForm`. */
  nativeTexts?: NativeForm["texts"];
  firstByteMs: number;
}

/** The parsed response. Parses it at the first use. */
export function completionOf(response: ChatResponse): ChatCompletion {
  response.completion ??= readCompletion(response.body!, {
    id: newCompletionId(),
    created: Math.floor(Date.now() / 1000),
    model: "",
  }).completion;
  return response.completion;
}

/** A response of our own as clients get it: many read the usage unasked, so that it is there where nobody counted too. */
export function completionBytes(completion: ChatCompletion): Buffer {
  return Buffer.from(
    JSON.stringify(completion.usage == null ? { ...completion, usage: NO_TOKENS } : completion),
  );
}
