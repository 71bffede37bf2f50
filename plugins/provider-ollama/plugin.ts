/** Local models, over Ollama's own API. */
import { definePlugin } from "portico";
import { channelSchema } from "./schema.ts";
import { ollama } from "./wire.ts";

export default definePlugin({
  name: "provider-ollama",
  names: { provider: ["ollama"] },
  description: "Provides the models of an Ollama server",
  config: { "channels.*": channelSchema },
  setup(ctx) {
    ctx.add("provider", {
      name: "ollama",
      description: "Ollama's native API (/api/chat)",
      defaultBaseUrl: "http://127.0.0.1:11434",
      wire: ollama,
    });
  },
});
