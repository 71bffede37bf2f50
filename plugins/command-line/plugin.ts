/** What a person types and reads: `portico WORD …`. */
import { definePlugin } from "portico";

export default definePlugin({
  name: "command-line",
  description: "The frame of all commands: words, help, output, and the process of `portico start`",
  commandLine: () => import("./run.ts"),
  setup() {},
});
