import { Type } from "portico";

export const channelSchema = Type.Object({
  entra: Type.Optional(
    Type.Boolean({
      description:
        "For azure: whether a channel without an apiKey signs in to Entra. Default: true if AZURE_CLIENT_ID is set, or if the host is Azure's.",
    }),
  ),
  apiVersion: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "For azure: the api-version of the classic addressing, such as 2024-10-21. Default: v1 addressing.",
    }),
  ),
});
