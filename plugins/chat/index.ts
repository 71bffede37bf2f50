/**
 * `portico/chat`: what a provider, a plugin for another wire format, and a caller of models need. Types and pure
 * functions: reading a request, writing a response, splitting and writing streams, upstream errors.
 */
export type * from "./kit/types.ts";
export * from "./kit/request/conversation.ts";
export * from "./kit/request/data-url.ts";
export * from "./kit/request/fields.ts";
export * from "./kit/request/foreign-fields.ts";
export * from "./kit/request/headers.ts";
export * from "./kit/request/images.ts";
export * from "./kit/request/parse-object.ts";
export * from "./kit/request/post-json.ts";
export * from "./kit/request/read-chat.ts";
export * from "./kit/request/read-value.ts";
export * from "./kit/session-key.ts";
export * from "./kit/request/strict-schema.ts";
export * from "./kit/request/tool-names.ts";
export * from "./kit/request/tools.ts";
export * from "./kit/request/url-path.ts";
export * from "./kit/response/call-ids.ts";
export * from "./kit/response/carry.ts";
export * from "./kit/response/collect-blocks.ts";
export * from "./kit/response/errors-in-response.ts";
export * from "./kit/response/sealed-extras.ts";
export * from "./kit/response/write-completion.ts";
export * from "./kit/models/capabilities.ts";
export * from "./kit/models/claude-settings.ts";
export * from "./kit/models/model-list.ts";
export * from "./kit/stream/block-stream.ts";
export * from "./kit/stream/chunk-writer.ts";
export * from "./kit/stream/decoder.ts";
export * from "./kit/stream/sse-parser.ts";
export * from "./kit/stream/fast-path.ts";
export * from "./kit/stream/upstream-error.ts";
