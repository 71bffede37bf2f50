/** Models on Amazon Bedrock, over its Converse API. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { DEFAULT_BASE_URL, secretsIn } from "./address.ts";
import { channelSchema } from "./schema.ts";
import { createBedrock } from "./wire.ts";

export default definePlugin({
  name: "provider-bedrock",
  names: { provider: ["bedrock"] },
  description: "Provides chat models on Amazon Bedrock",
  config: { "channels.*": channelSchema },
  errors,
  setup(ctx) {
    ctx.add("provider", {
      name: "bedrock",
      description:
        "Amazon Bedrock's Converse API, with a bearer key or AWS credentials of the environment",
      defaultBaseUrl: DEFAULT_BASE_URL,
      wire: createBedrock({ env: process.env, now: () => new Date() }),
      secrets: () => secretsIn(process.env),
    });
  },
});
