/** All errors of the plugin `models`. */
import { PorticoError } from "portico";

const INVALID = { code: "invalid_request_error" } as const;
const UNAVAILABLE = { code: "service_unavailable" } as const;
/** The types by which OpenAI's clients classify errors. */
const CALLER = { type: "invalid_request_error" } as const;
const GATEWAY = { type: "api_error" } as const;

export const errors = PorticoError.table({
  // requests
  invalidRequest: { ...INVALID, message: "{problem}" },
  modelNameTooLong: {
    ...INVALID,
    ...CALLER,
    message:
      "The model's name has {length} characters. A name may have at most {longest} characters.",
  },
  sessionNameTooLong: {
    ...INVALID,
    message: "The header x-portico-session may have at most {longest} characters.",
  },
  threadUnsupported: {
    ...INVALID,
    message:
      "The channel does not support threads. Send the whole conversation in `messages`, and leave out `thread`.",
  },
  unknownChannelAsked: {
    ...INVALID,
    message: "There is no channel `{channel}`. `portico channels list` lists the channels.",
  },
  unknownChannel: {
    code: "not_found",
    message: "There is no channel `{channel}`. GET /channels lists the channels.",
  },
  streamNotTranslated: {
    ...INVALID,
    message: "The provider `{provider}` cannot stream on this route. Leave out `stream`.",
  },
  formNotTranslated: {
    ...INVALID,
    message: "The provider `{provider}` accepts only JSON on this route. Send a JSON body.",
  },
  replyNotPossible: {
    code: "blocked_by_hook",
    ...CALLER,
    message: "A hook replied to this request, but this route cannot return a hook's reply.",
  },
  clientDisconnected: {
    code: "client_closed",
    status: 499,
    message: "The client disconnected before the response was complete.",
  },

  // models and channels
  unknownModel: {
    code: "model_not_found",
    status: 404,
    message: "The model `{model}` does not exist here{hint}. GET /v1/models lists all models.",
  },
  modelNotFound: { code: "model_not_found", status: 404, message: "{problem}" },
  allChannelsDisabled: {
    code: "model_not_found",
    status: 404,
    message:
      "No default model is set, and every channel is disabled. Enable a channel, or set agents.defaults.model.",
  },
  noModelListed: {
    code: "upstream_error",
    status: 502,
    message:
      "No default model is set, and these channels list no models: {channels}. Set agents.defaults.model, or a channel's models.",
  },
  endpointUnsupported: {
    code: "unsupported_endpoint",
    status: 400,
    ...CALLER,
    message: "The channel `{channel}` does not support /v1/{route}. {where}.",
  },
  listingUnsupported: {
    code: "not_implemented",
    message:
      "The provider `{provider}` does not list models. Name the models in channels.{channel}.models.",
  },
  providerUnknown: {
    ...UNAVAILABLE,
    message:
      "There is no provider `{provider}`. `portico plugins list` shows which plugins are running.",
  },
  providerMissing: {
    ...UNAVAILABLE,
    ...GATEWAY,
    message:
      "The channel `{channel}` needs the provider `{provider}`, which no plugin offers. `portico plugins list` shows which plugins are running.",
  },
  baseUrlMissing: {
    ...UNAVAILABLE,
    ...GATEWAY,
    message: "The channel `{channel}` has no baseUrl. Set channels.{channel}.baseUrl.",
  },
  channelMisconfigured: {
    ...UNAVAILABLE,
    ...GATEWAY,
    message: "The gateway cannot send requests to the channel `{channel}`: {problem}",
  },

  // limits
  limitsUnavailable: {
    ...UNAVAILABLE,
    message:
      "Budgets and token limits cannot be checked, because the plugin `store` is off. Enable this plugin.",
  },
  costsUnavailable: {
    ...UNAVAILABLE,
    message:
      "A budget applies to this request, but the plugin that counts costs is off. Enable the plugin `usage`.",
  },
  channelCostsUnavailable: {
    ...UNAVAILABLE,
    message:
      "The channel `{channel}` has a budget, but the plugin that counts costs is off. Enable the plugin `usage`.",
  },

  // images in messages
  imageDataUrlInvalid: {
    ...INVALID,
    message: "The data URL of an image is invalid. Write it as `data:image/png;base64,…`.",
  },
  imageRefused: {
    ...INVALID,
    message: "The gateway could not fetch an image: the image's server responded with {answer}.",
  },
  imageNotFetched: { ...INVALID, message: "The gateway could not fetch an image: {problem}" },

  // upstreams
  upstreamTimeout: {
    code: "upstream_timeout",
    status: 504,
    message: "The upstream did not respond within {ms} ms.",
  },
  listingTimeout: {
    code: "upstream_timeout",
    status: 504,
    message: "The provider did not list its models within {ms} ms.",
  },
  upstreamUnreachable: {
    code: "upstream_error",
    status: 502,
    message: "The upstream {problem}.",
  },
  responseTooLarge: {
    code: "upstream_error",
    status: 502,
    message: "The response is too large for hooks to check: it {excess}.",
  },

  // responses that have begun
  gatewayStopped: {
    ...UNAVAILABLE,
    message: "The gateway stopped before the response was complete.",
  },
  workerKilled: {
    ...UNAVAILABLE,
    message: "The gateway's worker was killed before the response was complete.",
  },
  streamNotWritten: {
    code: "internal_error",
    message: "The gateway could not translate the response.",
  },

  // codes of errors that the provider kit creates from an upstream's response
  contextTooLong: { code: "context_length_exceeded", status: 400, message: "{problem}" },
  upstreamAuth: { code: "upstream_auth", status: 502, message: "{problem}" },
  upstreamOverloaded: { code: "upstream_overloaded", status: 503, message: "{problem}" },
});
