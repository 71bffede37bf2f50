/** The plugin's slice of the configuration. */
import { type Static, Type } from "portico";

export const ResponsesConfig = Type.Object({
  storeDays: Type.Number({
    default: 30,
    minimum: 0,
    description: "how long responses are kept for previous_response_id; 0: never",
  }),
});
export type ResponsesConfig = Static<typeof ResponsesConfig>;
