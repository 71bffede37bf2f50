/** The plugin's sections of the configuration. */
import { type Static, Type } from "portico";

export const ResponsesConfig = Type.Object(
  {
    storeDays: Type.Number({
      default: 30,
      minimum: 0,
      maximum: 36_525,
      description: "how long responses are kept for previous_response_id; 0: never",
    }),
    maxBytesPerKey: Type.Integer({
      default: 16 * 1024 * 1024,
      minimum: 0,
      description:
        "how much space the responses of each client key may use; the oldest are deleted first",
    }),
  },
  { description: "Responses that are kept for previous_response_id." },
);
export type ResponsesConfig = Static<typeof ResponsesConfig>;
