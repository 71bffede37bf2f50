/** All errors of the plugin `webhooks`. */
import { PorticoError } from "portico";

const CONFIGURATION = { code: "invalid_request_error" } as const;

export const errors = PorticoError.table({
  // requests
  webhooksOff: {
    code: "not_found",
    message:
      "Webhooks are off. To turn them on, set webhooks.token (webhooks.enabled must not be false).",
  },
  methodNotAllowed: {
    code: "method_not_allowed",
    message: "Method {method} is not allowed. Use {allowed}.",
  },
  nothingHere: { code: "not_found", message: "There is nothing at {path}." },
  unknownEvent: {
    code: "not_found",
    message: "There is no {kind} {id} that these credentials may see.",
  },
  brokenMapping: {
    code: "service_unavailable",
    message: "The mapping {name} is invalid and not in use. The gateway's log shows the reason.",
  },
  questionMismatch: {
    code: "forbidden",
    message: "The request does not match the mapping: {path} does not have the required value.",
  },
  noMapping: {
    code: "no_mapping",
    status: 404,
    message: "No mapping matches this request: see webhooks.mappings.",
  },
  limited: {
    code: "rate_limit_exceeded",
    message: "The limit of {limit} requests is used up. Try again in {seconds} s.",
  },

  // credentials
  addressNotAllowed: {
    code: "forbidden",
    message: "This address may not send webhooks: it is not in webhooks.allowedIps.",
  },
  credentialsMissing: {
    code: "unauthorized",
    message:
      "Credentials are missing. Send the webhook token as `Authorization: Bearer <token>` or `x-service-token`.",
  },
  credentialsWrong: { code: "unauthorized", message: "{problem}" },
  signatureRequired: {
    code: "unauthorized",
    message: "The mapping {name} accepts signed requests only.",
  },
  mappingNotAllowed: {
    code: "forbidden",
    message: "This key may not call the mapping that matches this request.",
  },
  pathNotAllowed: {
    code: "forbidden",
    message:
      "This key may not call this path. webhooks.keys lists the paths that the key may call.",
  },
  nameNotAllowed: {
    code: "forbidden",
    message: "This key may not use this {kind}. It may use {allowed}.",
  },
  announceNotAllowed: {
    code: "forbidden",
    message:
      "This key may not post to the main session. Use a mapping with `delivery: announce`, or webhooks.token.",
  },

  // bodies
  unsupportedBody: {
    code: "unsupported_media_type",
    message:
      "The format of the body is not supported. Send JSON, a form (including multipart), XML or text, and name the format in `Content-Type`, or set the mapping's `body`.",
  },
  notUtf8: {
    code: "invalid_request_error",
    message: "The body is not valid UTF-8. Name its charset in `Content-Type`.",
  },
  unreadableXml: {
    code: "invalid_request_error",
    message: "The body cannot be read as XML: it {problem}.",
  },
  unreadableMultipart: {
    code: "invalid_request_error",
    message: "The body is not the multipart form that its `Content-Type` announces.",
  },
  partHeadTooLarge: {
    code: "invalid_request_error",
    message: "The headers of one part of the multipart form are larger than {bytes} bytes.",
  },

  // transforms
  transformFailed: {
    code: "transform_failed",
    status: 500,
    message: "The transform of the mapping {mapping} failed.",
  },
  transformResult: {
    code: "transform_failed",
    status: 500,
    message: "The transform of the mapping {mapping} returned {field}, which must be a string.",
  },

  // management
  unknownMapping: {
    code: "not_found",
    message: "There is no mapping {name}. `portico webhooks list` shows all mappings.",
  },
  unknownTarget: { code: "not_found", message: "There is no endpoint or mapping {path}." },
  unknownDelivery: {
    code: "not_found",
    message:
      "There is no delivery {id}. `portico webhooks deliveries` shows the newest deliveries.",
  },
  bodyNotKept: {
    code: "conflict",
    message: "The body of this delivery was not stored, so the delivery cannot be replayed.",
  },
  bodyIncomplete: {
    code: "conflict",
    message:
      "The delivery log does not have the whole body of this refused request, so the request cannot be replayed. Ask the sender to send it again.",
  },
  targetGone: {
    code: "conflict",
    message: "The endpoint or mapping {path} no longer exists, so the delivery cannot be replayed.",
  },
  nothingToReplay: { code: "conflict", message: "There is nothing to replay. {reason}" },
  noSample: {
    code: "invalid_request_error",
    message:
      "There is no sample. Send a body, or capture a request as the sample: portico webhooks catch {mapping}",
  },
  noSampleNamed: {
    code: "invalid_request_error",
    message: "There is no sample. Send a body, or name a mapping that has a sample.",
  },
  nothingCaught: { code: "timeout", message: "No request arrived for the mapping {mapping}." },
  nothingFitCaught: {
    code: "timeout",
    message: "No request arrived that matches the mapping {mapping}.",
  },

  // configuration: each message begins with the key, which `param` names as well
  tokenNotUnique: {
    ...CONFIGURATION,
    message:
      "{key} is also the token of another credential. Each credential needs a token of its own.",
  },
  reservedName: {
    ...CONFIGURATION,
    message: "{key} cannot be a mapping's name: {reserved} are reserved.",
  },
  badName: {
    ...CONFIGURATION,
    message: "{key} is part of an address. Use only letters, digits, . _ ~ and -.",
  },
  transformOutside: { ...CONFIGURATION, message: "{key} must be a path below <home>/transforms." },
  waitWithoutTurn: {
    ...CONFIGURATION,
    message:
      "{key} is only for mappings that start a turn of their own, so it cannot be used with the action `wake` or with `coalesce`.",
  },
  badPath: {
    ...CONFIGURATION,
    message: '{key}: "{path}" is not a path. Write body.a[0].b, headers.<name> or query.<name>.',
  },
  badPlaceholder: {
    ...CONFIGURATION,
    message: "{key}: {placeholder} is not a placeholder. {hint}",
  },
  noValueInSample: {
    ...CONFIGURATION,
    message: "{key}: {placeholder} has no value in the mapping's sample.{hint}",
  },
  badPattern: { ...CONFIGURATION, message: "{key}: the pattern {problem}." },
  badHeader: { ...CONFIGURATION, message: "{key} is not a header that can be set." },
  badSigning: { ...CONFIGURATION, message: "{key} {problem}" },
});
