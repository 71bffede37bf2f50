import { Type } from "portico";

export const channelSchema = Type.Object({
  project: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "For gemini: the Google Cloud project. If it is set, the channel uses Vertex AI.",
    }),
  ),
  keyFile: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "For gemini on Vertex AI: the file of a service account. Default: GOOGLE_APPLICATION_CREDENTIALS.",
    }),
  ),
  location: Type.Optional(
    Type.String({
      minLength: 1,
      description: "For gemini on Vertex AI: the region, such as europe-west1. Default: global.",
    }),
  ),
});
