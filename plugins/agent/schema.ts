/** The agent's part of `portico.json`, and what a request may hold. */
import { type Static, timerMs, Type } from "portico";
import { deliverySchema, refuseDuration, zoneSchema } from "portico/schedules";
import { PLAIN_NAME } from "./session-name.ts";

const tools = Type.Object(
  {
    allow: Type.Array(Type.String(), {
      default: ["*"],
      description: "Names of tools; * stands for any characters.",
    }),
    deny: Type.Array(Type.String(), {
      default: [],
      description: "Taken away again from what is allowed.",
    }),
    confirm: Type.Array(Type.String(), {
      default: [],
      description:
        "Calls that wait for your yes (portico turns confirm): names of tools, or of one action such as files.write; * stands for any characters.",
    }),
    confirmTimeoutMs: timerMs({
      default: 86_400_000,
      description: "How long such a call waits before it is refused, in milliseconds.",
    }),
  },
  { description: "Which tools the agent may call." },
);

const clock = (description: string) =>
  Type.String({
    pattern: "^(?:([01]?\\d|2[0-3]):[0-5]\\d|24:00)$",
    expected: "a time of day like 08:00",
    description,
  });

/** Nothing lies between a time and itself: the heartbeat would never beat, and nobody could tell why. */
function refuseHours(given: unknown): string | undefined {
  const { start, end } = Object(given) as Record<string, unknown>;
  const isSame =
    typeof start === "string" && start.padStart(5, "0") === String(end).padStart(5, "0");
  return isSame ? `begins and ends at ${start}: leave it out for the whole day` : undefined;
}

const heartbeat = Type.Object({
  every: Type.Union([Type.String(), Type.Number()], {
    default: "30m",
    refuse: refuseDuration,
    description:
      'How often queued events and HEARTBEAT.md are looked at: "30m", "1h30m"; "0" switches it off.',
  }),
  activeHours: Type.Optional(
    Type.Object(
      {
        start: clock("08:00"),
        end: clock("22:00; before start: over midnight"),
        tz: Type.Optional(zoneSchema("An IANA zone; default: the machine's.")),
      },
      { refuse: refuseHours },
    ),
  ),
  prompt: Type.Optional(
    Type.String({ description: "Replaces the words that begin a heartbeat's turn." }),
  ),
  model: Type.Optional(Type.String({ description: "A model of its own for heartbeats." })),
  cooldownMs: timerMs({ default: 5000, minimum: 0, description: "Least time between two starts." }),
});

export const defaultsSchema = Type.Object({
  model: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "Which model turns ask; by default the first of the highest channel, and echo where there is none.",
    }),
  ),
  channel: Type.Optional(Type.String({ description: "Only this channel." })),
  workspace: Type.Optional(
    Type.String({ description: "The workspace; start --workspace wins.", atNextStart: true }),
  ),
  systemPrompt: Type.Optional(
    Type.String({ description: "Replaces the beginning of the system prompt." }),
  ),
  maxSteps: Type.Integer({ default: 20, minimum: 1, description: "Model calls in one turn." }),
  maxTokens: Type.Optional(Type.Integer({ minimum: 1, description: "Tokens of one answer." })),
  maxTurnTokens: Type.Optional(
    Type.Integer({ minimum: 1, description: "Tokens of a whole turn, prompts included." }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  timeoutMs: timerMs({ default: 600_000, description: "Deadline of a turn." }),
  maxAttempts: Type.Integer({
    default: 5,
    minimum: 1,
    description: "Then a turn is dead, until it is replayed.",
  }),
  retryDelayMs: timerMs({
    default: 2000,
    minimum: 0,
    description: "Before the second attempt; then four times more.",
  }),
  maxConcurrentTurns: Type.Integer({
    default: 4,
    minimum: 1,
    description:
      "Turns side by side, of different sessions. From 2 on one place is the owner's, and no client, webhook or poll has more than half of the others.",
  }),
  quotaBytes: Type.Integer({
    default: 100_000_000,
    minimum: 0,
    description:
      "Bytes that transcripts and files of one client key, webhook or poll may take together; 0: without a limit.",
  }),
  compactAtTokens: Type.Integer({
    default: 60_000,
    minimum: 500,
    description: "A session longer than this (estimated) has its older part summed up.",
  }),
  heartbeat,
  tools,
});

/** Read by the plugins that offer sandboxed tools. */
export const sandboxSchema = Type.Object({
  mode: Type.Union([Type.Literal("off"), Type.Literal("all")], { default: "off" }),
  browser: Type.Object({
    allowHostControl: Type.Boolean({ default: false }),
    cdpUrl: Type.Optional(Type.String()),
  }),
});

/** Further agents: `agent/<id>` as a model. What is left out is as in the defaults. */
export const listSchema = Type.Record(
  Type.String(),
  Type.Object({
    description: Type.Optional(Type.String()),
    model: Type.Optional(Type.String()),
    channel: Type.Optional(Type.String()),
    workspace: Type.Optional(Type.String()),
    systemPrompt: Type.Optional(Type.String()),
    maxSteps: Type.Optional(Type.Integer({ minimum: 1 })),
    maxTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    timeoutMs: Type.Optional(timerMs({})),
    tools: Type.Optional(
      Type.Object({
        allow: Type.Optional(Type.Array(Type.String())),
        deny: Type.Optional(Type.Array(Type.String())),
        confirm: Type.Optional(Type.Array(Type.String())),
        confirmTimeoutMs: Type.Optional(timerMs({})),
      }),
    ),
  }),
  { default: {} },
);

export type Defaults = Static<typeof defaultsSchema>;
export type AgentList = Static<typeof listSchema>;

/** The body of `POST /agent`. */
export const agentRequest = Type.Object({
  message: Type.String({ minLength: 1 }),
  session: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: PLAIN_NAME,
      expected: "a name without control characters",
    }),
  ),
  model: Type.Optional(Type.String({ minLength: 1 })),
  channel: Type.Optional(Type.String({ minLength: 1 })),
  agent: Type.Optional(Type.String({ minLength: 1 })),
  context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  delivery: Type.Optional(deliverySchema),
  wait: Type.Optional(Type.Boolean()),
  stream: Type.Optional(Type.Boolean()),
});
