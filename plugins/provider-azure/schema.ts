import { Type } from "portico";

export const channelSchema = Type.Object({
  apiVersion: Type.Optional(
    Type.String({
      minLength: 1,
      description: "azure: api-version of the classic addressing, such as 2024-10-21; left out: v1",
    }),
  ),
});
