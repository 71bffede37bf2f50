/** The plugin's slice of the configuration. */
import { type Static, Type } from "portico";

export const RoutesConfig = Type.Object({
  maxUploadBytes: Type.Integer({
    default: 512 * 1024 * 1024,
    minimum: 1,
    description:
      "largest multipart body of /v1/audio and /v1/images/edits; it is kept on disk while it is passed on",
  }),
});
export type RoutesConfig = Static<typeof RoutesConfig>;
