/** What this plugin has in the configuration. */
import { Type } from "portico";

export const nameSchema = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description:
      "Name under which the list of gateways shows this one; default: the name of its machine.",
  }),
);
