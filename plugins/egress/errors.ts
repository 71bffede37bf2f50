/**
 * Every error of the plugin `egress`. Each has its status here, because the guard also runs where the plugin is not loaded.
 */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  // addresses
  nameNotResolved: {
    code: "name_not_resolved",
    status: 502,
    message: "The host name {host} has no address.",
  },
  notAUrl: { code: "invalid_request_error", status: 400, message: "This is not a URL." },
  notHttp: {
    code: "invalid_request_error",
    status: 400,
    message: "This is not an http or https URL.",
  },
  notAHostAndPort: {
    code: "invalid_request_error",
    status: 400,
    message: "This is not a host and port.",
  },

  // responses
  responseTooLarge: {
    code: "response_too_large",
    status: 502,
    message: "The response is larger than {maxBytes} bytes.",
  },
  responseCutOff: {
    code: "upstream_error",
    status: 502,
    message: "The response was cut off before its end.",
  },
  unknownEncoding: {
    code: "upstream_error",
    status: 502,
    message: "The content encoding {encoding} of the response is not supported.",
  },
  badRedirect: {
    code: "upstream_error",
    status: 502,
    message: "The response redirects to something that is not a URL.",
  },
  unexpectedRedirect: {
    code: "too_many_redirects",
    status: 502,
    message: "The server redirected the request, but the request does not allow redirects.",
  },
  tooManyRedirects: {
    code: "too_many_redirects",
    status: 502,
    message: "The request was redirected more than {redirects} times.",
  },
  requestFailed: {
    code: "upstream_error",
    status: 502,
    message: "The request failed: {reason}",
  },
  responseTooSlow: {
    code: "upstream_timeout",
    status: 504,
    message: "The whole response did not arrive within {ms} ms.",
  },
  streamSilent: {
    code: "upstream_timeout",
    status: 504,
    message: "The stream sent nothing for {ms} ms.",
  },

  // proxies
  ownProxy: { code: "forbidden", status: 403, message: "The proxy does not connect to itself." },
  badProxy: {
    code: "invalid_request_error",
    status: 400,
    message: "The proxy must be like http://host:3128 or socks5://host:1080.",
  },
  proxyCredentialsTooLong: {
    code: "invalid_request_error",
    status: 400,
    message:
      "The user name and the password for a SOCKS5 proxy must each be at most 255 bytes long.",
  },
  badProxyVariable: {
    code: "invalid_request_error",
    status: 400,
    message: "{name} is not the address of a proxy. Write http://host:port.",
  },
});

/** Creates the error for a destination that the policy forbids. Each surface with a guard chooses the code. */
export function blockedError(
  code: string,
  message: string,
  details: { reason: string; host: string },
): PorticoError {
  return new PorticoError(code, message, { status: 403, details });
}
