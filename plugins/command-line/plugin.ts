/** The command line: `portico COMMAND …`. */
import { definePlugin } from "portico";
import type {} from "./index.ts";

export default definePlugin({
  name: "command-line",
  description:
    "Provides the common parts of all commands: arguments, help, output, and the process of `portico start`",
  contributions: { banner: { fields: { name: "string" } } },
  commandLine: () => import("./run.ts"),
  setup() {},
});
