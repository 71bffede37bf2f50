/** `portico heartbeat`. */
import { defineCommand } from "portico/command-line";

interface State {
  nextAt: string | null;
  turnId?: string;
  queued: number;
  events: { eventId: string; createdAt: string; mode: string; source?: string; text: string }[];
}

export default defineCommand({
  name: "heartbeat",
  summary: "The agent's regular look at queued events and HEARTBEAT.md",
  commands: [
    {
      name: "show",
      summary: "The next beat, and the events that wait for it",
      async run(io) {
        io.show(
          await io.gateway.request<State>("GET", "/heartbeat"),
          ({ nextAt, turnId, queued, events }) => {
            const rows = events.map((each) => [
              each.eventId,
              each.createdAt,
              each.mode,
              each.source,
              each.text,
            ]);
            return [
              nextAt === null
                ? "There is no regular beat (agents.defaults.heartbeat.every is 0)."
                : `Next beat: ${nextAt}`,
              ...(turnId === undefined ? [] : [`A heartbeat waits for its session: ${turnId}`]),
              queued === 0 ? "No event is queued." : `Events queued: ${queued}`,
              ...(queued === 0
                ? []
                : io.table(["EVENT", "CREATED", "MODE", "SOURCE", "TEXT"], rows)),
            ];
          },
        );
      },
    },
    {
      name: "now",
      summary: "Start one now, whatever the hour",
      async run(io) {
        const answer = await io.gateway.request<{ message: string; turnId: string | null }>(
          "POST",
          "/heartbeat",
        );
        io.show(answer, ({ message, turnId }) =>
          turnId === null ? message : `${message} ${turnId}`,
        );
      },
    },
  ],
});
