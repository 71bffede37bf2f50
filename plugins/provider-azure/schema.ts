import { Type } from "portico";

export const channelSchema = Type.Object({
  entra: Type.Optional(
    Type.Boolean({
      description:
        "For azure: whether a channel without an apiKey signs in to Entra. Default: true if AZURE_CLIENT_ID is set, or if the channel's host belongs to Azure.",
    }),
  ),
  apiVersion: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "For azure: the api-version, such as 2024-10-21, which selects the older, versioned URLs. Default: the v1 URLs, which need no api-version.",
    }),
  ),
});
