import { defineCommand } from "../command.ts";

/** `portico start`: runs the gateway in the foreground. */
export default defineCommand({
  name: "start",
  summary: "Run the gateway in the foreground",
  description:
    "Prints the gateway's address, and the token if it was created at this start. SIGINT or SIGTERM stops the gateway once responses in\n" +
    "progress have ended; a second signal stops it at once.",
  options: {
    port: {
      type: "number",
      value: "N",
      description: "The port to listen on (default: gateway.port, 18789)",
    },
    workspace: {
      type: "string",
      value: "DIR",
      description: "The agent's workspace (default: <home>/workspace)",
    },
  },
  examples: ["portico start", "portico start --port 8080 --home /srv/portico"],
  run: (io) => io.serve({}),
});
