/** OpenAI models deployed on Azure. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { channelSchema } from "./schema.ts";
import { createEntraCredential } from "./entra.ts";
import { azure } from "./wire.ts";

export default definePlugin({
  name: "provider-azure",
  names: { provider: ["azure"] },
  description: "Provides chat models that are deployed on Azure OpenAI",
  config: { "channels.*": channelSchema },
  errors,
  setup(ctx) {
    ctx.add("provider", {
      name: "azure",
      description:
        "Azure OpenAI, with the v1 URLs, or with the older, versioned URLs if the channel has an apiVersion",
      secrets: () => (process.env.AZURE_CLIENT_SECRET ? [process.env.AZURE_CLIENT_SECRET] : []),
      wire: { ...azure, credential: createEntraCredential({ env: process.env, now: Date.now }) },
    });
  },
});
