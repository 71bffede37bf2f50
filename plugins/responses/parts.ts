/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { compactConversation, countInputTokens, createResponse } from "./endpoint.ts";
export { deleteResponse, getResponse, listInputItems } from "./stored-responses.ts";
export { createArchive } from "./archive.ts";
export { createQuota } from "./quota.ts";
export { responseRoutes } from "./routes-schema.ts";
