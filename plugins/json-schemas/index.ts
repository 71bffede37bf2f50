/** `portico/json-schemas`: JSON Schemas and regular expressions that come from outside, checked in bounded time. */
export { createSchemaCheck, type SchemaCheck, type SchemaCheckOptions } from "./check.ts";
export { compilePattern, type Pattern } from "./pattern.ts";
export { TooMuchText } from "./safe-patterns.ts";
