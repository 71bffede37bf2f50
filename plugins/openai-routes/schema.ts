/** The plugin's section of the configuration. */
import { type Static, Type } from "portico";

export const RoutesConfig = Type.Object(
  {
    maxUploadBytes: Type.Integer({
      default: 512 * 1024 * 1024,
      minimum: 1,
      description:
        "The largest multipart body of /v1/audio and /v1/images/edits, in bytes. The gateway stores such a body on disk while it forwards it.",
    }),
  },
  { description: "Additional routes in the OpenAI format, such as audio and images." },
);
export type RoutesConfig = Static<typeof RoutesConfig>;
