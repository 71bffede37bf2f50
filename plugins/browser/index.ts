/** `portico/browser`: the control API without HTTP, and what a browser's host needs: confined files and sockets. */
export * from "./connect/free-port.ts";
export * from "./connect/web-socket.ts";
export * from "./files/confine.ts";
export { plainName, thinOut } from "./files/own-files.ts";
export type * from "./types.ts";
