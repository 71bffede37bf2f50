/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { anthropicForm, anthropicHeaders } from "./errors.ts";
export { anthropicError, messageRoutes } from "./routes-schema.ts";
export { countTokens, createMessage } from "./endpoint.ts";
