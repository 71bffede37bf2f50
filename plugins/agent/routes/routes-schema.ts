/** The schemas of the agent's routes. */
import { type RouteOptions, Type } from "portico";
import {
  AnyObject,
  choice,
  eventsResponse,
  jsonResponse,
  limitField,
  streamableResponse,
  Time,
} from "portico/openapi";
import { agentRequest } from "../schema.ts";

const owner = { access: "gateway" } as const;
const Text = Type.Optional(Type.String());
const Count = Type.Integer({ minimum: 0 });

export const TURN_STATES = ["queued", "running", "waiting", "done", "dead", "cancelled"] as const;

const turn = {
  turnId: Type.String(),
  sessionId: Type.String(),
  state: choice(TURN_STATES),
  source: Type.String({ description: "What started the turn" }),
  principal: Type.String({ description: "The principal on whose behalf the turn runs" }),
  attempts: Count,
  createdAt: Time,
  startedAt: Type.Optional(Time),
  finishedAt: Type.Optional(Time),
  retryAt: Type.Optional(Time),
  result: Text,
  model: Text,
  steps: Type.Optional(Count),
  usage: Type.Optional(AnyObject),
  error: Type.Optional(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      status: Type.Optional(Type.Integer()),
    }),
  ),
  waitingCalls: Type.Optional(Type.Array(AnyObject)),
};
const Turn = Type.Object(turn);
const Running = Type.Optional(
  Type.Literal(true, {
    description: "true if the step or call has not ended; `ms` is then the time so far",
  }),
);
const Trace = Type.Array(
  Type.Object({
    model: Type.String(),
    requestId: Type.String({ description: "The id of the request in GET /requests" }),
    startedAt: Type.Optional(Time),
    isRunning: Running,
    ms: Count,
    usage: Type.Optional(AnyObject),
    cost: Type.Optional(Type.Number({ description: "The cost in US dollars" })),
    error: Text,
    calls: Type.Array(
      Type.Object({
        tool: Type.String(),
        arguments: Type.String(),
        startedAt: Type.Optional(Time),
        isRunning: Running,
        outcome: Text,
        ok: Type.Optional(Type.Boolean()),
        ms: Count,
        decision: Type.Optional(choice(["confirmed", "denied", "expired", "interrupted"])),
      }),
    ),
    omittedCalls: Type.Optional(Count),
  }),
  { description: "Each request to the model, and the tool calls in its response" },
);
const TurnReport = Type.Object({
  ...turn,
  trace: Trace,
  omittedSteps: Type.Optional(Count),
  failedAttempts: Type.Array(
    Type.Object({
      attempt: Type.Integer({ minimum: 1 }),
      error: Type.Object({ code: Type.String(), message: Type.String() }),
      trace: Trace,
      omittedSteps: Count,
    }),
    { description: "The attempts before the latest one" },
  ),
  cost: Type.Optional(
    Type.Number({ description: "The cost in US dollars of all steps with a known price" }),
  ),
});

const session = {
  id: Type.String(),
  createdAt: Time,
  updatedAt: Time,
  messageCount: Count,
  agent: Text,
  source: Text,
  principal: Text,
  temporary: Type.Optional(Type.Boolean()),
};

const Message = Type.Object({
  seq: Count,
  at: Time,
  turnId: Text,
  role: Type.String(),
  content: Type.Optional(Type.Unknown()),
});

const Ok = Type.Object({ ok: Type.Boolean() });

const call = Type.Optional(
  Type.String({
    minLength: 1,
    description: "The id of the call, or a part of the id; optional if only one call is waiting",
  }),
);
const Decided = Type.Object({
  turnId: Type.String(),
  callId: Type.String(),
  tool: Type.String(),
  decision: Type.String(),
  waiting: Count,
});

export const confirmBody = Type.Object({ call });
export const denyBody = Type.Object({
  call,
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: "The reason, which the model receives",
    }),
  ),
});

export const agentRoutes = {
  start: {
    ...owner,
    summary: "Start a turn",
    changes: false,
    body: agentRequest,
    response: streamableResponse(
      Type.Object({
        status: Type.Integer(),
        message: Type.String(),
        sessionId: Type.String(),
        turnId: Type.Optional(
          Type.String({ description: "The id of the turn; absent if the message was a command" }),
        ),
        command: Text,
        result: Text,
        state: Text,
      }),
    ),
  },
  turns: {
    ...owner,
    summary: "List the turns, newest first",
    query: Type.Object({
      state: Type.Optional(choice(TURN_STATES, "Only turns in this state")),
      session: Type.Optional(Type.String({ description: "Only turns of this session" })),
      principal: Type.Optional(
        Type.String({
          description:
            "Only turns of this principal: owner, key:NAME, webhook:NAME, poll:NAME, outside",
        }),
      ),
      limit: limitField(50),
    }),
    response: jsonResponse(Type.Object({ turns: Type.Array(Turn) })),
  },
  turn: { ...owner, summary: "Show a turn and its steps", response: jsonResponse(TurnReport) },
  cancel: { ...owner, summary: "Cancel a turn", body: null, response: jsonResponse(Ok) },
  replay: {
    ...owner,
    summary: "Run a dead or cancelled turn again",
    body: null,
    response: jsonResponse(Ok),
  },
  confirm: {
    ...owner,
    summary: "Allow a tool call that is waiting for approval",
    body: confirmBody,
    optionalBody: true,
    response: jsonResponse(Decided),
  },
  deny: {
    ...owner,
    summary: "Refuse a tool call that is waiting for approval",
    body: denyBody,
    optionalBody: true,
    response: jsonResponse(Decided),
  },
  tools: {
    ...owner,
    summary: "List the agent's tools and what a principal may use",
    query: Type.Object({
      as: Type.Optional(
        Type.String({
          description:
            "The principal: owner (default), outside, or key:NAME, webhook:NAME (a key or a mapping), poll:NAME",
        }),
      ),
      agent: Type.Optional(Type.String({ description: "The agent whose settings apply" })),
    }),
    response: jsonResponse(
      Type.Object({
        principal: Type.String(),
        agent: Type.String(),
        tools: Type.Array(
          Type.Object({
            name: Type.String(),
            description: Type.String(),
            principals: Type.Array(Type.String()),
            allowed: Type.Boolean(),
            confirm: Type.Array(Type.String(), {
              description: "Patterns of the calls that wait for the owner's approval",
            }),
          }),
        ),
        reach: AnyObject,
      }),
    ),
  },
  sessions: {
    ...owner,
    summary: "List the sessions, most recently used first",
    query: Type.Object({
      prefix: Type.Optional(
        Type.String({ description: "Only sessions whose id begins with this string" }),
      ),
      limit: limitField(50),
    }),
    response: jsonResponse(Type.Object({ sessions: Type.Array(Type.Object(session)) })),
  },
  session: {
    ...owner,
    summary: "Show a session with its transcript",
    query: Type.Object({ last: limitField(1000) }),
    response: jsonResponse(Type.Object({ ...session, messages: Type.Array(Message) })),
  },
  deleteSession: {
    ...owner,
    summary: "Delete a session and its transcript",
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), id: Type.String() })),
  },
  heartbeat: {
    ...owner,
    summary: "Show the queued events and the next heartbeat",
    query: Type.Object({ limit: limitField(50) }),
    response: jsonResponse(
      Type.Object({
        nextAt: Type.Union([Time, Type.Null()]),
        everyMs: Type.Integer(),
        activeHours: Type.Optional(Type.Unknown()),
        turnId: Text,
        queued: Count,
        events: Type.Array(
          Type.Object({ eventId: Type.String(), text: Type.String(), createdAt: Time }),
        ),
      }),
    ),
  },
  beat: {
    ...owner,
    summary: "Start a heartbeat now",
    changes: false,
    body: null,
    response: jsonResponse(
      Type.Object({
        status: Type.Integer(),
        message: Type.String(),
        turnId: Type.Union([Type.String(), Type.Null()], {
          description: "null if there is nothing to do",
        }),
      }),
    ),
  },
  events: {
    ...owner,
    summary: "Follow the events of the gateway as a stream",
    query: Type.Object({
      name: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "Only events with this name; agent:* selects all events whose names begin with agent:",
        }),
      ),
      lastEventId: Type.Optional(
        Type.String({
          description: "Continue after the event with this id, as the header Last-Event-ID does",
        }),
      ),
    }),
    response: eventsResponse(
      "A stream of events. An event `gap` shows that some events are missing.",
    ),
  },
} satisfies Record<string, RouteOptions>;
