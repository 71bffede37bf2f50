export * from "./chunk-writer.ts";
export * from "./data-url.ts";
export * from "./decoder.ts";
export * from "./text-lane.ts";
export * from "./sse-parser.ts";
export * from "./upstream-error.ts";
