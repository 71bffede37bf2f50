/** Gemini models, over Google AI Studio or Vertex AI. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { channelSchema } from "./schema.ts";
import { createGoogleCredential } from "./google-credentials.ts";
import { AI_STUDIO, gemini } from "./wire.ts";

export default definePlugin({
  name: "provider-gemini",
  names: { provider: ["gemini"] },
  description: "Provides Google's Gemini models, over AI Studio or Vertex AI",
  config: { "channels.*": channelSchema },
  errors,
  setup(ctx) {
    ctx.add("provider", {
      name: "gemini",
      description: "Google's Gemini API, or Vertex AI if the channel names a project",
      defaultBaseUrl: AI_STUDIO,
      wire: { ...gemini, credential: createGoogleCredential({ env: process.env, now: Date.now }) },
    });
  },
});
