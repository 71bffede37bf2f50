/** A provider of this process broke: told as an upstream that fails, but asking again would only break it again. */
import { UpstreamError } from "portico/chat";

export class ProviderFailed extends UpstreamError {
  constructor(provider: string, cause: unknown) {
    super("upstream_error", `The provider \`${provider}\` failed.`, {
      kind: "upstream",
      upstreamStatus: 0,
      status: 502,
      type: "api_error",
      cause,
    });
  }
}
