/** The plugin's sections of the configuration. */
import { type Static, Type } from "portico";

export const ResponsesConfig = Type.Object(
  {
    storeDays: Type.Number({
      default: 30,
      minimum: 0,
      maximum: 36_525,
      description: "How many days responses are stored for previous_response_id; 0 stores none.",
    }),
    maxBytesPerKey: Type.Integer({
      default: 16 * 1024 * 1024,
      minimum: 0,
      description:
        "How many bytes the stored responses of each client key may use. The oldest responses are deleted first.",
    }),
  },
  { description: "Responses that are stored for previous_response_id." },
);
export type ResponsesConfig = Static<typeof ResponsesConfig>;
