import { Type } from "portico";

export const channelSchema = Type.Object({
  project: Type.Optional(
    Type.String({
      minLength: 1,
      description: "gemini: Google Cloud project; makes the channel use Vertex AI",
    }),
  ),
  keyFile: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "gemini on Vertex AI: a service account's file; default GOOGLE_APPLICATION_CREDENTIALS",
    }),
  ),
  location: Type.Optional(
    Type.String({
      minLength: 1,
      description: "gemini on Vertex AI: region, such as europe-west1; default global",
    }),
  ),
});
