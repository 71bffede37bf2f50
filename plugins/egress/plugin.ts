/** Declares the error codes of the face `portico/egress`, which does the work. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";

export default definePlugin({
  name: "egress",
  description: "Whom the gateway may reach: the guard of fetches and browsers",
  errors,
  setup() {},
});
