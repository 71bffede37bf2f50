/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { noRequests, Recorder } from "./recorder.ts";
export { curlOf } from "./curl.ts";
export { createPages } from "./pages.ts";
export { readQuery } from "./query.ts";
export { requestRoutes } from "./routes-schema.ts";
