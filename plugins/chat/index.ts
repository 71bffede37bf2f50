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
// For plugins of users that write bytes of an OpenAI stream: new ones write parts, with what `portico/provider` has for it.
/** @deprecated See `decodeJsonStream`. */
export {
  createJsonDecoder,
  type JsonDecoderOptions,
  type JsonOut,
} from "./deprecated/json-decoder.ts";
/** @deprecated See `PartWriter`. */
export { type ChunkWriter, createChunkWriter } from "./deprecated/chunk-writer.ts";
/** @deprecated See `createPartDecoder`. */
export { createDecoder } from "./deprecated/decoder.ts";
/** @deprecated See `ContentBlocks`. */
export { createBlockStream } from "./deprecated/block-stream.ts";
export { createFastPath } from "./deprecated/fast-path.ts";
