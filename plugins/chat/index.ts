/**
 * `portico/chat`: what a provider, a plugin for another wire format, and a caller of models need. Types and pure
 * functions, no state. Each is documented where it stands: shapes, units, errors.
 *
 * - A provider implements `ChatProvider`. One that speaks HTTP writes its request from `readFields`, `readConversation`
 *   and `readTools`, its response with `completionFrom` and `tokenUsage`, its stream with `createJsonDecoder` (or, where
 *   events are no JSON objects, `createDecoder` over `createSseParser` or `createLineParser` and `createChunkWriter`), and
 *   its errors with `kindOfStatus` and `upstreamError`.
 * - A route for another format reads its body into a `ChatRequest` and calls `ChatService.open`.
 * - Whoever asks a model calls `ChatService.complete` or `stream`.
 */
export type * from "./kit/types.ts";

// Reading a request in OpenAI's form. What a target cannot express throws `invalid_request_error` (400) with `param`.
export {
  besideEmbeddings,
  type Fields,
  onlyOneChoice,
  readFields,
  refused,
  wantsUsage,
} from "./kit/request/fields.ts";
export { alternate, hasContent, readConversation, textOf } from "./kit/request/conversation.ts";
export type {
  AssistantTurn,
  FilePart,
  ImagePart,
  Part,
  ResultPart,
  Turn,
  UserTurn,
} from "./kit/types/conversation.ts";
export {
  type Effort,
  functionTool,
  jsonInstruction,
  readEffort,
  readResponseFormat,
  readTools,
  type ResponseFormat,
  type ToolUse,
} from "./kit/request/tools.ts";
export { readImage, webImage } from "./kit/request/images.ts";
export { parseDataUrl } from "./kit/request/data-url.ts";
export { strictSchema } from "./kit/request/strict-schema.ts";
export { hasForeignFields, withoutForeignFields } from "./kit/request/foreign-fields.ts";

// Sending it.
export { filled, filledObject, postJson } from "./kit/request/post-json.ts";
export {
  fitToolNames,
  PLAIN_TOOL_NAME,
  type ToolNames,
  UNCHANGED_NAMES,
} from "./kit/request/tool-names.ts";
export { API_ROUTES, forwardRoutes } from "./kit/forward-routes.ts";
export { type Expiring, createRenewed } from "./kit/credentials/renewed.ts";
export { fetchAccessToken, readAccessToken } from "./kit/credentials/access-token.ts";
export { packageReason, optionalPackage } from "./kit/credentials/optional-package.ts";
export { bearerHeaders, withHeaders } from "./kit/request/headers.ts";
export { pathSegment, pathSegments } from "./kit/request/url-path.ts";

// Reading a request in another form into OpenAI's. Throw `invalid_request_error` (400) with `param`.
export {
  type JsonObject,
  listAt,
  objectAt,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
  stringAt,
} from "./kit/request/read-value.ts";
export {
  functionAt,
  modelAt,
  onlyText,
  resultText,
  type Said,
  saidMessage,
  streamFields,
} from "./kit/request/read-chat.ts";

export { jsonBody } from "./openai/members.ts";
export { isUnnamedSession, keySession } from "./kit/session-key.ts";
export { periodOf } from "./kit/period.ts";

// What families of models take.
export {
  claudeModel,
  type ClaudeModel,
  geminiModel,
  type GeminiModel,
  isClaude,
} from "./kit/models/capabilities.ts";
export {
  claudeSampling,
  claudeStops,
  claudeThinking,
  effortOfBudget,
  isBrokenLoop,
} from "./kit/models/claude-settings.ts";
export { readModelList } from "./kit/models/model-list.ts";

// Writing a response in OpenAI's form.
export { isJson, parseObject } from "./kit/request/parse-object.ts";
export { parseResponse } from "./kit/response/parse-response.ts";
export { toldArguments, toldCount, toldIndex, toldText } from "./kit/response/told.ts";
export { assistantMessage, completionFrom, tokenUsage } from "./kit/response/write-completion.ts";
export {
  clientCallId,
  isMintedCallId,
  mintCallId,
  shortCallId,
  upstreamCallId,
} from "./kit/response/call-ids.ts";
export {
  carriedSignature,
  carriedThinking,
  carrySignature,
  carryThinking,
  originOf,
  type ThinkingBlock,
} from "./kit/response/carry.ts";
export { type BlockOptions, collectBlocks } from "./kit/response/collect-blocks.ts";
export { openExtras, sealExtras } from "./kit/response/sealed-extras.ts";

// Streams: bytes cut anywhere in, bytes of an OpenAI stream out.
export {
  createJsonDecoder,
  type JsonDecoderOptions,
  type JsonOut,
} from "./kit/stream/json-decoder.ts";
export { createLineParser } from "./kit/stream/line-parser.ts";
export { createSseParser, type SseParser } from "./kit/stream/sse-parser.ts";
export { type ChunkWriter, createChunkWriter } from "./kit/stream/chunk-writer.ts";
export { createBlockStream } from "./kit/stream/block-stream.ts";
export { createDecoder } from "./kit/stream/decoder.ts";
export { createFastPath } from "./kit/stream/fast-path.ts";
export { literalOf, textIfAny } from "./kit/stream/literal.ts";

// What went wrong at an upstream, as its caller and the router are told.
export {
  cutShort,
  errorInResponse,
  errorTold,
  notJson,
} from "./kit/response/errors-in-response.ts";
export {
  isUpstreamError,
  kindOfStatus,
  namedKind,
  readOpenAiProblem,
  UpstreamError,
  upstreamError,
  type UpstreamProblem,
} from "./kit/stream/upstream-error.ts";
