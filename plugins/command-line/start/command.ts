import { defineCommand } from "../command.ts";

/** The foreground gateway. It is the only command that does not talk to a running one. */
export default defineCommand({
  name: "start",
  summary: "Run the gateway in the foreground",
  description:
    "Prints its address and, when one was made at this start, its token. Stops on SIGINT or SIGTERM once running\n" +
    "answers have ended; a second signal stops it at once.",
  options: {
    port: { type: "number", value: "N", description: "Port (default: gateway.port, 18789)" },
    workspace: {
      type: "string",
      value: "DIR",
      description: "The agent's workspace (default: <home>/workspace)",
    },
  },
  examples: ["portico start", "portico start --port 8080 --home /srv/portico"],
  run: (io) => io.serve({}),
});
