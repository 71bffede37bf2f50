import { Type } from "portico";

export const channelSchema = Type.Object({
  region: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "For bedrock: the AWS region. Default: AWS_REGION, AWS_DEFAULT_REGION, or us-east-1.",
    }),
  ),
});
