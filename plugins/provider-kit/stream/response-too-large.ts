import { UpstreamError } from "./upstream-error.ts";

/** An upstream sends more than is read. It is not asked again: that would only bring as much again. */
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
