/** The schemas of the agent's configuration and of the request that starts a turn. */
import { type Static, timerMs, Type } from "portico";
import { deliverySchema, refuseDuration, zoneSchema } from "portico/schedules";
import { PLAIN_NAME } from "./session-name.ts";

const tools = Type.Object(
  {
    allow: Type.Array(Type.String(), {
      default: ["*"],
      description: "The allowed tools, by name; * stands for any characters.",
    }),
    deny: Type.Array(Type.String(), {
      default: [],
      description: "Tools that the agent may not call even if `allow` lists them.",
    }),
    confirm: Type.Array(Type.String(), {
      default: [],
      description:
        "Tool calls that need your approval (portico turns confirm): the names of tools, or of single actions such as files.write; * stands for any characters.",
    }),
    confirmTimeoutMs: timerMs({
      default: 86_400_000,
      description: "How long a call waits for your approval before it is refused, in milliseconds.",
    }),
  },
  { description: "Which tools the agent may call." },
);

const timeOfDaySchema = (description: string) =>
  Type.String({
    pattern: "^(?:([01]?\\d|2[0-3]):[0-5]\\d|24:00)$",
    expected: "a time of day like 08:00",
    description,
  });

/** The range from a time to the same time is empty, so the heartbeat would never run and give no reason. */
function refuseHours(hours: unknown): string | undefined {
  const { start, end } = Object(hours) as Record<string, unknown>;
  const isSame =
    typeof start === "string" && start.padStart(5, "0") === String(end).padStart(5, "0");
  return isSame
    ? `begins and ends at ${start}, so the heartbeat would never run: leave it out for the whole day`
    : undefined;
}

const heartbeat = Type.Object({
  every: Type.Union([Type.String(), Type.Number()], {
    default: "30m",
    refuse: refuseDuration,
    description:
      'How often the agent reads queued events and HEARTBEAT.md: "30m", "1h30m"; "0" turns the heartbeat off.',
  }),
  activeHours: Type.Optional(
    Type.Object(
      {
        start: timeOfDaySchema("The beginning of the active hours, such as 08:00."),
        end: timeOfDaySchema(
          "The end of the active hours, such as 22:00. If it is before `start`, the active hours include midnight.",
        ),
        tz: Type.Optional(
          zoneSchema(
            "The time zone of the active hours, as an IANA name. Default: the time zone of the machine.",
          ),
        ),
      },
      { refuse: refuseHours },
    ),
  ),
  prompt: Type.Optional(
    Type.String({ description: "Replaces the default message that starts a heartbeat turn." }),
  ),
  model: Type.Optional(Type.String({ description: "A separate model for heartbeats." })),
  cooldownMs: timerMs({
    default: 5000,
    minimum: 0,
    description: "The shortest time between two heartbeats, in milliseconds.",
  }),
});

export const defaultsSchema = Type.Object({
  model: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "The model that turns use. By default this is the first model of the channel with the highest priority, or echo if there is no channel.",
    }),
  ),
  channel: Type.Optional(Type.String({ description: "Turns use only this channel." })),
  workspace: Type.Optional(
    Type.String({
      description: "The directory of the workspace; `portico start --workspace` overrides it.",
      atNextStart: true,
    }),
  ),
  systemPrompt: Type.Optional(
    Type.String({
      description:
        "Replaces the default introduction of the system prompt; the rest of the prompt is still appended.",
    }),
  ),
  maxSteps: Type.Integer({
    default: 20,
    minimum: 1,
    description: "The largest number of model calls in one turn.",
  }),
  maxTokens: Type.Optional(
    Type.Integer({ minimum: 1, description: "The largest number of tokens in one response." }),
  ),
  maxTurnTokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "The largest number of tokens that one turn may use, including its prompts.",
    }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  timeoutMs: timerMs({ default: 600_000, description: "Deadline of a turn, in milliseconds." }),
  maxAttempts: Type.Integer({
    default: 5,
    minimum: 1,
    description:
      "After this number of failed attempts, a turn is dead: it runs again only if you replay it.",
  }),
  retryDelayMs: timerMs({
    default: 2000,
    minimum: 0,
    description:
      "The pause before the second attempt, in milliseconds. Each later pause is four times as long as the previous one.",
  }),
  maxConcurrentTurns: Type.Integer({
    default: 4,
    minimum: 1,
    description:
      "How many turns, each of a different session, may run at the same time. If this is 2 or more, one slot is reserved for the owner, and no single client, webhook or poll may take more than half of the remaining slots.",
  }),
  quotaBytes: Type.Integer({
    default: 100_000_000,
    minimum: 0,
    description:
      "The largest total size of the transcripts and files of one client key, webhook or poll, in bytes; 0 means no limit.",
  }),
  compactAtTokens: Type.Integer({
    default: 60_000,
    minimum: 500,
    description:
      "When a session reaches this estimated number of tokens, the gateway summarises its older part.",
  }),
  heartbeat,
  tools,
});

/** The plugins that offer sandboxed tools read this section. */
export const sandboxSchema = Type.Object({
  mode: Type.Union([Type.Literal("off"), Type.Literal("all")], { default: "off" }),
  browser: Type.Object({
    allowHostControl: Type.Boolean({ default: false }),
    cdpUrl: Type.Optional(Type.String()),
  }),
});

/** Additional agents, each also the model `agent/<id>`. The defaults apply to members that are left out. */
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
