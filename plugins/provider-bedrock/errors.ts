/** Every error of the plugin `provider-bedrock` that does not come from checking a field of a request. */
import { PorticoError } from "portico";

const NO_CREDENTIALS = { code: "upstream_auth", type: "api_error" } as const;

export const errors = PorticoError.table({
  packageMissing: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials. Set its apiKey, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. AWS's default credential chain (profiles, SSO, roles of containers and machines) needs a package: npm install {package}",
  },
  chainFailed: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, and AWS's default credential chain failed: {reason}",
  },
});
