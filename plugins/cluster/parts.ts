/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { Feeds } from "./feeds.ts";
export { Board } from "./board.ts";
export { listGateway } from "./list-gateway.ts";
