/**
 * `portico/chat`: the types of the services `chat` and `channels` and of their events, for callers of models. It also
 * publishes all of `portico/provider`, where providers import from now: plugins of users may still take it from here.
 */
export type * from "./kit/types.ts";
export * from "portico/provider";

export { fetchAccessToken, readAccessToken } from "./kit/credentials/access-token.ts";
export { jsonBody } from "./openai/members.ts";
export { isUnnamedSession, keySession } from "./kit/session-key.ts";
export { periodOf } from "./kit/period.ts";
export { modelFault, modelPatternFault } from "./judging/known-models.ts";
// Streams: bytes cut anywhere in, bytes of an OpenAI stream out.
export {
  createJsonDecoder,
  type JsonDecoderOptions,
  type JsonOut,
} from "./kit/stream/json-decoder.ts";
export { type ChunkWriter, createChunkWriter } from "./kit/stream/chunk-writer.ts";
export { createDecoder } from "./kit/stream/decoder.ts";
export { literalOf, textIfAny } from "./kit/stream/literal.ts";
