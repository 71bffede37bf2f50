/**
 * `portico/models`: the types of the services `models` and `channels`, of their events and of what plugins contribute to
 * them, for callers of models, and a few pure functions about models' names, keys' sessions and access tokens.
 */
export type * from "./kit/types.ts";

export { fetchAccessToken, readAccessToken } from "./kit/credentials/access-token.ts";
export { jsonBody, parseBody, type RawBody, rawBody } from "./openai/members.ts";
export { isUnnamedSession, keySession } from "./kit/session-key.ts";
export { isAnthropicClient } from "./kit/anthropic-client.ts";
export { periodOf, retryAfterSeconds } from "./kit/period.ts";
export { modelPatternFault, targetFaults } from "./judging/known-models.ts";
// Plugins of users that write bytes of an OpenAI stream import these from `portico/chat`.
export {
  type ChunkWriter,
  createBlockStream,
  createChunkWriter,
  createDecoder,
  createFastPath,
  createJsonDecoder,
  type JsonDecoderOptions,
  type JsonOut,
} from "./deprecated.ts";
