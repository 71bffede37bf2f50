/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { createChatCounts, emptyTallies } from "./chat.ts";
export { createWorkCounts, emptyWorkTallies } from "./work.ts";
export {
  collectFromWorkers,
  serveFamilies,
} from "./over-workers.ts";
