import { Type } from "portico";

export const channelSchema = Type.Object({
  region: Type.Optional(
    Type.String({
      minLength: 1,
      description: "bedrock: AWS region; default AWS_REGION, AWS_DEFAULT_REGION, else us-east-1",
    }),
  ),
});
