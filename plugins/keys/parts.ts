/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { createAuthenticator, hashOf, isKey } from "./grant.ts";
export { createGate } from "./gate.ts";
export { createHolders } from "./holders.ts";
export { mountKeys } from "./routes.ts";
export { openStoredKeys } from "./stored.ts";
