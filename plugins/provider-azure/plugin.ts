/** OpenAI models deployed on Azure. */
import { definePlugin } from "portico";
import { channelSchema } from "./schema.ts";
import { azure } from "./wire.ts";

export default definePlugin({
  name: "provider-azure",
  description: "Chat models deployed on Azure OpenAI",
  config: { "channels.*": channelSchema },
  setup(ctx) {
    ctx.add("provider", {
      name: "azure",
      description: "Azure OpenAI: v1 addressing, or classic where the channel has an apiVersion",
      wire: azure,
    });
  },
});
