/**
 * `portico/browser`: the service `browser` (the control API without HTTP), and what its plugins share: WebSockets,
 * and files that stay below a root.
 */

/** True if no server listens on that port of 127.0.0.1. */
export { portFree } from "./net/free-port.ts";

export {
  /** Completes an upgrade whose credentials were checked. */
  acceptSocket,
  /** Ends a WebSocket with a code and a reason, and does not wait long for the other side. */
  closeSocket,
  /** Begins to connect to a `ws:` URL; no redirect is followed. */
  dialSocket,
  /** Hands each message of a WebSocket on; one that cannot be read ends it with 1002. */
  readMessages,
} from "./net/web-socket.ts";

export {
  /** The real path of a file below a root that may be handed on. 400 `invalid_request_error`. */
  checkUpload,
  /** The path below a root of a file that a caller named. Throws 400 `invalid_request_error`. */
  confinedPath,
  /** The real path of any file below a root. 400 `invalid_request_error`. */
  existingFile,
  /** Makes the temporary root, private to this user. */
  ensureTmpRoot,
  /** A file below a root that has its name only once it is whole. */
  openConfined,
  type WhyProtected,
} from "./files/confine.ts";

export {
  /** A name that a file system takes, whatever a page or another machine suggests. */
  plainName,
  /** Removes the oldest files of a directory, down to the 200 newest. */
  thinOut,
} from "./files/own-files.ts";

/** One WebSocket. */
export type { WebSocket } from "./net/web-socket.ts";
/** The service `browser`, what it is asked, what it responds, and the policy that a gateway imposes on a node. */
export type { BrowserRequest, BrowserResponse, BrowserService, ImposedPolicy } from "./types.ts";
