/** Every error of the plugin `provider-azure`. */
import { PorticoError } from "portico";

const NO_CREDENTIALS = { code: "upstream_auth", type: "api_error" } as const;

export const errors = PorticoError.table({
  packageMissing: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials. Set its apiKey, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET. Managed identities and az login need a package: npm install @azure/identity",
  },
  noCredentials: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, and Azure's credential chain provides none.",
  },
  chainFailed: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, and Azure's credential chain failed: {reason}",
  },
});
