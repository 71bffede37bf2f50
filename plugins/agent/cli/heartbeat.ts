/** `portico heartbeat`. */
import { commandFor, type CommandIO, defineCommand } from "portico/command-line";
import { agentRoutes } from "../routes/routes-schema.ts";

interface State {
  nextAt: string | null;
  turnId?: string;
  queued: number;
  events: { eventId: string; createdAt: string; mode: string; source?: string; text: string }[];
}

const show = commandFor<State>("GET /heartbeat", agentRoutes.heartbeat, {
  name: "show",
  summary: "Show the next heartbeat and its queued events",
  view: describe,
});

const now = commandFor<{ message: string; turnId: string | null }>(
  "POST /heartbeat",
  agentRoutes.beat,
  {
    name: "now",
    summary: "Start a heartbeat now, even outside its active hours",
    view: ({ message, turnId }) => (turnId === null ? message : `${message} ${turnId}`),
  },
);

export default defineCommand({
  name: "heartbeat",
  summary: "Show or start the heartbeat, which reads queued events and HEARTBEAT.md",
  commands: [show, now],
});

function describe({ nextAt, turnId, queued, events }: State, io: CommandIO): string[] {
  const next =
    nextAt === null
      ? "There is no regular heartbeat (agents.defaults.heartbeat.every is 0)."
      : `Next heartbeat: ${nextAt}`;
  const waitingLines =
    turnId === undefined ? [] : [`A heartbeat is waiting because its session is busy: ${turnId}`];
  if (queued === 0) return [next, ...waitingLines, "No event is queued."];
  const rows = events.map(({ eventId, createdAt, mode, source, text }) => [
    eventId,
    createdAt,
    mode,
    source,
    text,
  ]);
  return [
    next,
    ...waitingLines,
    `Events queued: ${queued}`,
    ...io.table(["EVENT", "CREATED", "MODE", "SOURCE", "TEXT"], rows),
  ];
}
