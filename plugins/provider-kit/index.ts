/**
 * `portico/provider`: the types and pure functions for writing a provider of models, or a way in for another wire format.
 * It has no state. Each export is documented at its declaration: shapes, units, errors.
 *
 * - A provider builds its request with `readFields`, `readConversation` and `readTools`, decodes its stream into
 *   `StreamPart`s, its whole response with `completionFrom` and `tokenUsage`, and its errors with `kindOfStatus` and
 *   `upstreamError`.
 * - A way in reads its body into a `ChatRequest`, calls the service `chat`, and encodes `StreamPart`s.
 */
export type * from "./types/format.ts";
export type * from "./types/provider.ts";
export { isObject, type JsonMembers } from "./request/is-object.ts";

// Reading a request in OpenAI's form. Throws `invalid_request_error` (400) with `param` if a target cannot express a value.
export {
  besideEmbeddings,
  type Fields,
  onlyOneChoice,
  readFields,
  refused,
  wantsUsage,
} from "./request/fields.ts";
export { alternate, hasContent, readConversation, textOf } from "./request/conversation.ts";
export type {
  AssistantTurn,
  FilePart,
  ImagePart,
  Part,
  ResultPart,
  Turn,
  UserTurn,
} from "./types/conversation.ts";
export {
  type Effort,
  functionTool,
  jsonInstruction,
  readEffort,
  readResponseFormat,
  readTools,
  type ResponseFormat,
  type ToolUse,
} from "./request/tools.ts";
export { readImage, webImage } from "./request/images.ts";
export { estimateTokens, tokensOfCharacters } from "./request/estimate-tokens.ts";
export { parseDataUrl } from "./request/data-url.ts";
export { strictSchema } from "./request/strict-schema.ts";
export { hasForeignFields, withoutForeignFields } from "./request/foreign-fields.ts";
// Encoding the request of a provider.
export { filled, filledObject, postJson } from "./request/post-json.ts";
export {
  fitToolName,
  fitToolNames,
  PLAIN_TOOL_NAME,
  type ToolNames,
  UNCHANGED_NAMES,
} from "./request/tool-names.ts";
export { API_ROUTES, forwardRoutes } from "./forward-routes.ts";
export { type Expiring, createRenewed } from "./credentials/renewed.ts";
export { packageReason, optionalPackage } from "./credentials/optional-package.ts";
export { bearerHeaders, withHeaders } from "./request/headers.ts";
export { pathSegment, pathSegments } from "./request/url-path.ts";
// Reading a request in another form into OpenAI's. Throws `invalid_request_error` (400) with `param`.
export {
  bodyObject,
  type JsonObject,
  listAt,
  objectAt,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
  stringAt,
} from "./request/read-value.ts";
export { type ReadMembers, type ReadObject, unreadMembers } from "./request/unread-members.ts";
export {
  functionAt,
  modelAt,
  onlyText,
  resultText,
  type Said,
  saidMessage,
  streamFields,
} from "./request/read-chat.ts";
// The capabilities of families of models.
export {
  claudeModel,
  type ClaudeModel,
  geminiModel,
  type GeminiModel,
  isClaude,
  MISTRAL_MODELS,
} from "./models/capabilities.ts";
export {
  claudeSampling,
  claudeStops,
  claudeThinking,
  effortOfBudget,
  isBrokenLoop,
} from "./models/claude-settings.ts";
export { readModelEntries, readModelList } from "./models/model-list.ts";
// Writing a response in OpenAI's form.
export { parseObject } from "./request/parse-object.ts";
export { parseResponse } from "./response/parse-response.ts";
export {
  completeArguments,
  completeArguments as toldArguments,
  isJson,
} from "./response/arguments.ts";
export { laterUsage } from "./response/later-usage.ts";
export { readCountOrZero, readIndex, readText } from "./response/read-members.ts";
export { readCount, repairCounts } from "./response/token-counts.ts";
export { assistantMessage, completionFrom, tokenUsage } from "./response/write-completion.ts";
export {
  clientCallId,
  isMintedCallId,
  mintCallId,
  shortCallId,
  upstreamCallId,
} from "./response/call-ids.ts";
export {
  carriedSignature,
  carriedThinking,
  carrySignature,
  carryThinking,
  originOf,
  type ThinkingBlock,
} from "./response/carry.ts";
export { type BlockOptions, collectBlocks } from "./response/collect-blocks.ts";
export { openExtras, sealExtras } from "./sealed-extras.ts";
export { JsonExtent } from "./json/json-extent.ts";
export { HeldBytes } from "./stream/held-bytes.ts";
export { ResponseTooLarge } from "./stream/response-too-large.ts";
export { createLineParser } from "./stream/line-parser.ts";
export { createSseParser, type SseParser } from "./stream/sse-parser.ts";
// Errors of an upstream, in the form for its caller and the router.
export {
  cutShort,
  errorInResponse,
  errorValueIn,
  notJson,
} from "./response/errors-in-response.ts";
export { CONTEXT_LENGTH, promptTooLong } from "./stream/context-length.ts";
export {
  type ErrorMembers,
  isUpstreamError,
  kindOfStatus,
  namedKind,
  otherMembers,
  readOpenAiProblem,
  UpstreamError,
  upstreamError,
  type UpstreamProblem,
} from "./stream/upstream-error.ts";

// Upstreams that speak the Responses API.
export {
  countResponseTokens,
  nativeResponses,
  readInputTokens,
  type ResponsesAddress,
} from "./responses/native-form.ts";
export { placeOf, type ResponseText, textsInEvent, textsInResponse } from "./responses/texts.ts";

// Bytes and lines of any upstream.
export { markLength, withoutMark } from "./stream/byte-order-mark.ts";
export { jsonLines, parseJsonObject } from "./stream/json-lines.ts";

// Streams as parts: decoders of upstreams produce parts, ways in encode them.
export type * from "./types/parts.ts";
export { type PartDefaults, PartWriter } from "./parts/part-writer.ts";
export { OpenSource, type PartsWriting, writeParts } from "./parts/source.ts";
export { type CallFragment, ToolCallTracker, type TrackerOptions } from "./parts/tool-calls.ts";
export { CallIds } from "./parts/call-ids.ts";
export { PartCollector } from "./parts/collector.ts";
export { PartSequence } from "./parts/part-sequence.ts";
export { partSize } from "./parts/part-size.ts";
export { partsOfCompletion } from "./parts/completion-parts.ts";
export { ContentBlocks } from "./parts/content-blocks.ts";
export { createPartDecoder, type Decoding } from "./parts/decoder.ts";
export { decodeJsonStream, type JsonStreamOptions } from "./parts/json-stream.ts";
export { SignedReasoning } from "./parts/signed-reasoning.ts";
export { ChunkEncoder, type ChunkOptions } from "./openai/chunk-encoder.ts";
export type { ChunkSink } from "./openai/chunk-sink.ts";
export { ChunkReader } from "./openai/chunk-reader.ts";
export { asFailure, errorIn } from "./openai/errors.ts";
export { usesFunctions, withFunctionCalls } from "./openai/function-call.ts";
export { createOpenAiDecoder } from "./openai/stream-decoder.ts";
export { errorEvent, OpenAiEncoder } from "./openai/stream-encoder.ts";
export { newCompletionId, NO_TOKENS, readCompletion, textCompletion } from "./openai/completion.ts";
export { isCompletionId } from "./openai/repair.ts";

// JSON whose large integers keep their digits.
export { parseCounted, parseExact, stringifyExact } from "./json/exact-json.ts";

// A provider's demands on a whole request: it lists rules, and one step applies them and records each change.
export {
  type Applied,
  applyChatRules,
  applyMessagesRules,
  atSource,
} from "./rules/apply.ts";
export type {
  RequestRule,
  RuleChat,
  RuleMessage,
  RuleMessages,
  RuleNotes,
  RuleTarget,
} from "./types/rules.ts";
export { rulesTable } from "./rules/table.ts";
export { rememberPlaces, sourcePath, withSource } from "./rules/places.ts";

// Rules that several providers share.
export { noCacheMarks } from "./rules/cache-marks.ts";
export { documentName, documentNames, textBesideDocuments } from "./rules/documents.ts";
export { imageType } from "./request/image-type.ts";
export { imageTypes } from "./rules/images.ts";
export {
  limitNamed,
  noParameters,
  onlyOwnMembers,
  reasoningBesideCalls,
  reasoningOnlyBesideCalls,
} from "./rules/parameters.ts";
export { functionCallsAsTools, uniqueToolIds } from "./rules/tool-ids.ts";
export { asToolSchema } from "./rules/tool-schema.ts";
export { toolSchemas } from "./rules/tools.ts";
export {
  assistantAfterTool,
  developerAsSystem,
  laterSystemToUser,
  noBlankAssistant,
  noBlankTexts,
  noPrefill,
  noTrailingSpace,
  prefixLastAssistant,
  systemNotAlone,
  userTurnFirst,
} from "./rules/turns.ts";
export { wellFormedJson, wellFormedUnicode, wellFormedValue } from "./rules/unicode.ts";
