/** Mistral's models, over La Plateforme. */
import { definePlugin } from "portico";
import { mistral } from "./wire.ts";

export default definePlugin({
  name: "provider-mistral",
  names: { provider: ["mistral"] },
  description: "Provides the chat models of Mistral AI",
  setup(ctx) {
    ctx.add("provider", {
      name: "mistral",
      description: "Mistral's chat completions",
      defaultBaseUrl: "https://api.mistral.ai",
      wire: mistral,
    });
  },
});
