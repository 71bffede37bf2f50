/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { createEntry } from "./entry.ts";
export { FileChanges } from "./file-changes.ts";
export { RefusedAttempts } from "./refused.ts";
export { parseQuery, readPage } from "./query.ts";
export { auditRoutes } from "./routes-schema.ts";
export { Trail } from "./trail.ts";
