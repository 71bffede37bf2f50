/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { chatRoutes } from "./routes-schema.ts";
export { createCompletion } from "./endpoint.ts";
export { createHookChat } from "./hook-chat.ts";
