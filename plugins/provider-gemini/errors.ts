/** Every error of the plugin `provider-gemini` that does not come from checking a field of a request. */
import { PorticoError } from "portico";

const NO_CREDENTIALS = { code: "upstream_auth", type: "api_error" } as const;

export const errors = PorticoError.table({
  noMetadataServer: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, and there is no metadata server at {host}. Set its apiKey, its keyFile (a service account's file) or GOOGLE_APPLICATION_CREDENTIALS.",
  },
  keyFileUnreadable: {
    ...NO_CREDENTIALS,
    message: "The channel {channel} has no credentials: its keyFile {file} cannot be read.",
  },
  keyFileNotJson: {
    ...NO_CREDENTIALS,
    message: "The channel {channel} has no credentials: its keyFile {file} is not JSON.",
  },
  badPrivateKey: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials: the private_key of its keyFile cannot be read.",
  },
  packageMissing: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has a keyFile of type {type}, which needs a package: npm install {package}",
  },
  tokenFailed: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, because its keyFile could not be exchanged for a token: {reason}",
  },
  noToken: {
    ...NO_CREDENTIALS,
    message:
      "The channel {channel} has no credentials, because its keyFile could not be exchanged for a token.",
  },
});
