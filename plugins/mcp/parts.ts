/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { Connections, problemOf } from "./connections.ts";
export { createFrontDoor } from "./front-door.ts";
