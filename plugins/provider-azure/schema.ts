import { Type } from "portico";

export const channelSchema = Type.Object({
  entra: Type.Optional(
    Type.Boolean({
      description:
        "azure: without an apiKey, sign in to Entra; default where AZURE_CLIENT_ID is set, or the host is Azure's",
    }),
  ),
  apiVersion: Type.Optional(
    Type.String({
      minLength: 1,
      description: "azure: api-version of the classic addressing, such as 2024-10-21; left out: v1",
    }),
  ),
});
