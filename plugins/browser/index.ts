/**
 * `portico/browser`: the service `browser` (the control API without HTTP) and functions that other plugins share with
 * it: WebSockets, and files confined to a root directory.
 */

/** True if no server listens on that port of 127.0.0.1. */
export { portFree } from "./net/free-port.ts";

export {
  /** Completes an upgrade whose credentials were checked. */
  acceptSocket,
  /** Closes a WebSocket with a code and a reason, and does not wait long for the peer. */
  closeSocket,
  /** Begins to connect to a `ws:` URL. Redirects are not followed. */
  dialSocket,
  /** Passes each message of a WebSocket to a handler; an invalid message closes the socket with 1002. */
  readMessages,
} from "./net/web-socket.ts";

export {
  /** Returns the real path of a file below a root that may be uploaded. Rejects with a 400 `invalid_request_error`. */
  checkUpload,
  /** Returns the path below a root for a file that a caller named. Rejects with a 400 `invalid_request_error`. */
  confinedPath,
  /** Returns the real path of an existing file below a root. Rejects with a 400 `invalid_request_error`. */
  existingFile,
  /** Creates the temporary root, private to this user. */
  ensureTmpRoot,
  /** Opens a file below a root that appears under its name only when it is complete. */
  openConfined,
  type WhyProtected,
} from "./files/confine.ts";

export {
  /** Returns a valid file name, whatever a page or another machine suggests. */
  plainName,
  /** Removes the oldest files of a directory and keeps the 200 newest. */
  thinOut,
} from "./files/own-files.ts";

/** One WebSocket. */
export type { WebSocket } from "./net/web-socket.ts";
/** The service `browser`, its requests and responses, and the policy that a gateway imposes on a node. */
export type { BrowserRequest, BrowserResponse, BrowserService, ImposedPolicy } from "./types.ts";
