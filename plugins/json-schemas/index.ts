/** `portico/json-schemas`: applies JSON Schemas and regular expressions from outside in bounded time. */
export { createSchemaCheck, type SchemaCheck, type SchemaCheckOptions } from "./check.ts";
export { compilePattern, type Pattern } from "./pattern.ts";
export { TooMuchText } from "./safe-patterns.ts";
