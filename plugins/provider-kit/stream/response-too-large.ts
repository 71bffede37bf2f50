import { UpstreamError } from "./upstream-error.ts";

/** An upstream has exceeded a size limit. The request is not repeated, because the next response would be as large. */
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
