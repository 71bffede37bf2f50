/** The configuration of this plugin. */
import { Type } from "portico";

export const nameSchema = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description:
      "The name of this gateway in the list of gateways. Default: the name of the machine.",
  }),
);
