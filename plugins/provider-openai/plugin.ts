/** Every server that speaks OpenAI's format, with presets for the well-known ones. */
import { definePlugin } from "portico";
import { presetNames } from "./preset-names.ts";

export default definePlugin({
  name: "provider-openai",
  names: { provider: presetNames },
  description:
    "Provides the models of OpenAI and of every server with OpenAI's format: OpenRouter, Groq, DeepSeek, vLLM, …",
  async setup(ctx) {
    const { openaiProvider, presets } = await import("./parts.ts");
    for (const preset of presets) ctx.add("provider", openaiProvider(preset));
  },
});
