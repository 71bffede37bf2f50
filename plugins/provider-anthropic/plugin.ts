/** Claude models over Anthropic's Messages API. */
import { definePlugin } from "portico";
import { anthropic } from "./wire.ts";

export default definePlugin({
  name: "provider-anthropic",
  names: { provider: ["anthropic"] },
  description:
    "Provides the chat models of Anthropic and of servers that speak its Messages format",
  setup(ctx) {
    ctx.add("provider", {
      name: "anthropic",
      description: "Anthropic Messages API",
      defaultBaseUrl: "https://api.anthropic.com",
      wire: anthropic,
    });
  },
});
