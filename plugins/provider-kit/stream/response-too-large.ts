import { UpstreamError } from "./upstream-error.ts";

/** The error of an upstream that sends more than a limit allows. The request is not repeated, because the next response would be as large. */
export class ResponseTooLarge extends UpstreamError {
  constructor(message: string) {
    super("upstream_error", message, {
      kind: "upstream",
      upstreamStatus: 0,
      status: 502,
      type: "api_error",
    });
  }
}
