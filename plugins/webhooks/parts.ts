/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { setUp } from "./setup.ts";
export { ENDPOINTS, webhookError } from "./routes-schema.ts";
