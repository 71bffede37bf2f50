/** `portico heartbeat`. */
import { defineCommand } from "portico";

export default defineCommand({
  name: "heartbeat",
  summary: "The agent's regular look at queued events and HEARTBEAT.md",
  commands: [
    {
      name: "now",
      summary: "Start one now, whatever the hour",
      async run(io) {
        const answer = await io.gateway.request<{ message: string; turnId: string | null }>("POST", "/heartbeat");
        io.show(answer, ({ message, turnId }) => (turnId === null ? message : `${message} ${turnId}`));
      },
    },
  ],
});
