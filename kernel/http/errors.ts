/** Every error of the HTTP server: what a client receives before, or instead of, the response of a handler. */
import { PorticoError } from "../errors.ts";

const TOKEN = "Send the gateway's token as `Authorization: Bearer <token>`";

export const errors = PorticoError.table({
  // The head of a request, and its way to a route.
  malformed: {
    code: "invalid_request_error",
    message: "This is not a well-formed HTTP/1.1 request.",
  },
  headTooLarge: {
    code: "headers_too_large",
    status: 431,
    message: "The request's head is larger than 16 KiB.",
  },
  headTooSlow: {
    code: "request_timeout",
    message: "The request did not arrive in time.",
  },
  unknownExpectation: {
    code: "expectation_failed",
    message: "The server supports no expectation other than 100-continue.",
  },
  badPath: {
    code: "invalid_request_error",
    message: "The path of the request is not properly percent-encoded.",
  },
  methodNotAllowed: {
    code: "method_not_allowed",
    type: "invalid_request_error",
    message: "Method {method} is not allowed for {path}. Use {allowed}.",
  },
  /** `hints` is empty, or sentences that each begin with a space. */
  nothingThere: {
    code: "not_found",
    type: "invalid_request_error",
    message: "There is nothing at {path}.{hints}",
  },
  noWebSocket: {
    code: "not_found",
    message: "There is no WebSocket at {path}.",
  },

  // Access control.
  needsOneHost: {
    code: "invalid_request_error",
    message: "The request needs exactly one Host header.",
  },
  unknownHost: {
    code: "forbidden_host",
    message:
      "The gateway does not accept this Host name. Use 127.0.0.1 or localhost with its port, or name the host in gateway.http.allowedHosts.",
  },
  notThisMachine: {
    code: "forbidden",
    message: "This server accepts requests from its own machine only.",
  },
  foreignOrigin: {
    code: "forbidden_origin",
    message:
      "Pages of this origin may not call this gateway. To allow them, add the origin to gateway.http.allowedOrigins.",
  },
  foreignSite: {
    code: "forbidden_origin",
    message: "Other sites' pages may not call this gateway.",
  },
  credentialsMissing: {
    code: "unauthorized",
    type: "authentication_error",
    message: `Credentials are missing. ${TOKEN}.`,
  },
  credentialsWrong: {
    code: "unauthorized",
    type: "authentication_error",
    message: `The credentials are wrong. ${TOKEN}, without white space around it.`,
  },
  credentialsTwice: {
    code: "unauthorized",
    type: "authentication_error",
    message: "The request has two Authorization headers. Send one.",
  },
  credentialsUncheckable: {
    code: "service_unavailable",
    message: "Credentials cannot be checked at the moment. Try again later.",
  },
  ownersOnly: {
    code: "forbidden",
    type: "permission_error",
    message: "A client key may not do this: use the gateway's own token.",
  },
  tooManyAttempts: {
    code: "too_many_attempts",
    type: "rate_limit_error",
    message: "Too many failed attempts from this address. Try again in {seconds} s.",
  },

  // The body of a request.
  bodyTooLarge: {
    code: "body_too_large",
    message: "The request body is larger than the {maxBytes} bytes that this route accepts.",
  },
  bodyTooSlow: {
    code: "request_timeout",
    message: "The request body did not arrive in time. Send it without long pauses.",
  },
  clientDisconnected: {
    code: "client_closed",
    status: 499,
    message: "The client disconnected before it sent the whole request.",
  },
  unknownEncoding: {
    code: "unsupported_media_type",
    message:
      "Content-Encoding {encoding} is not supported. Send the body without an encoding, or use one of these: {supported}.",
  },
  wrongEncoding: {
    code: "invalid_request_error",
    type: "invalid_request_error",
    message: "The request body cannot be decompressed: it is not valid {encoding}.",
  },
  needsJson: {
    code: "unsupported_media_type",
    message: "Send the body as JSON with `Content-Type: application/json`.",
  },
  needsUtf8: {
    code: "unsupported_media_type",
    message: "JSON must be in UTF-8. Leave the charset out of Content-Type.",
  },
  emptyBody: {
    code: "invalid_json",
    type: "invalid_request_error",
    message: "The request body is empty. Send a JSON value.",
  },
  notUtf8: {
    code: "invalid_json",
    type: "invalid_request_error",
    message: "The request body is not valid UTF-8.",
  },
  /** `place` is empty, or like `: see character 7`. */
  notJson: {
    code: "invalid_json",
    type: "invalid_request_error",
    message: "The request body is not valid JSON{place}.",
  },
  /** `excess` is like `holds more than 100,000 values`. */
  overLimit: {
    code: "invalid_request_error",
    type: "invalid_request_error",
    message: "The request body {excess}. Send less, or raise gateway.http.{limit}.",
  },
  needsObject: {
    code: "invalid_request_error",
    message: "The body must be a JSON object.",
  },

  // The server itself.
  tooManyConnections: {
    code: "too_many_connections",
    message:
      "The gateway has reached its limit of connections. Close idle connections, or raise gateway.http.maxConnections and the limit of open files.",
  },
  stopping: {
    code: "service_unavailable",
    message: "The gateway is stopping.",
  },
  stoppedEarly: {
    code: "service_unavailable",
    message: "The gateway stopped before it could respond.",
  },
  /** The log has the cause; the caller must not see it. */
  internal: {
    code: "internal_error",
    type: "api_error",
    message: "The gateway failed to handle the request. Its log has the details under {id}.",
  },
  portInUse: {
    code: "port_in_use",
    message:
      "Port {port} on {host} is in use. Stop the program that listens there, or choose another port with --port.",
  },
  cannotListen: {
    code: "cannot_listen",
    message:
      "The gateway cannot listen on {host}:{port} ({reason}). Choose another address or port.",
  },
  serverOpen: {
    code: "port_in_use",
    message: "The server {name} is already open.",
  },
  /** `what` is like `.cert: /tls/cert.pem cannot be read`. */
  unusableTls: {
    code: "config_error",
    message: "gateway.tls{what} ({reason}).",
  },
});
