/** Every error of the plugin `openai-routes`. */
import { PorticoError } from "portico";

/** The code and type of errors of multipart bodies, which are OpenAI's. */
const MULTIPART = { code: "invalid_request_error", type: "invalid_request_error" } as const;

export const errors = PorticoError.table({
  notMultipart: {
    code: "unsupported_media_type",
    message: "Send the body as `multipart/form-data`, and name its boundary in `Content-Type`.",
  },

  // Multipart bodies.
  textAfterEnd: {
    ...MULTIPART,
    message: "The multipart body cannot be read: its boundary appears again after the end.",
  },
  boundaryInLine: {
    ...MULTIPART,
    message: "The multipart body cannot be read: its boundary appears inside a line.",
  },
  textAfterBoundary: {
    ...MULTIPART,
    message: "The multipart body cannot be read: a boundary is followed by text on the same line.",
  },
  incomplete: {
    ...MULTIPART,
    message: "The multipart body cannot be read: it ends before its last boundary.",
  },
  tooManyParts: {
    ...MULTIPART,
    message: "The multipart body cannot be read: it has more than {most} parts.",
  },
  fieldTooLarge: {
    ...MULTIPART,
    message: "The multipart body cannot be read: the field `{name}` is larger than {kib} KiB.",
  },
  partHeadTooLarge: {
    ...MULTIPART,
    message: "The multipart body cannot be read: the head of a part is too large.",
  },
  partHeadMalformed: {
    ...MULTIPART,
    message: "The multipart body cannot be read: the head of a part is malformed.",
  },
  partEncoded: {
    ...MULTIPART,
    message:
      "The multipart body cannot be read: a part has a Content-Transfer-Encoding. Send the part without one.",
  },
  twoDispositions: {
    ...MULTIPART,
    message: "The multipart body cannot be read: a part has two Content-Disposition headers.",
  },
  ambiguousDisposition: {
    ...MULTIPART,
    message: "The multipart body cannot be read: the Content-Disposition of a part is ambiguous.",
  },
  nameMissing: {
    ...MULTIPART,
    message:
      'The multipart body cannot be read: a part has no Content-Disposition: form-data; name="…".',
  },

  // Bodies while they are received and forwarded.
  bodyTooLarge: {
    code: "body_too_large",
    message: "The request body is larger than {maxBytes} bytes (routes.maxUploadBytes).",
  },
  bodyTooSlow: {
    code: "request_timeout",
    message: "The request body did not arrive in time.",
  },
  clientClosed: {
    code: "client_closed",
    status: 499,
    message: "The client closed the connection before its request was complete.",
  },
  bodyNotStored: {
    code: "service_unavailable",
    type: "api_error",
    message:
      "The request body could not be stored while it was being forwarded. Check the free space and the permissions of the temporary directory.",
  },
});
