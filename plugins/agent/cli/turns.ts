/** `portico turns`: the agent's queue. */
import { type CommandIO, defineCommand } from "portico/command-line";
import type { TurnReport, TurnStatus } from "portico/agent";
import { shortIds } from "portico/store";
import { describeTurn } from "./turn-report.ts";

const turn = { name: "turn", description: "Its id, or the end or beginning of it" };
const call = {
  name: "call",
  description: "Which of its calls, as show lists them; not needed where only one waits",
  optional: true,
};

interface Decided {
  tool: string;
  decision: string;
  waiting: number;
}

async function decide(io: CommandIO, action: "confirm" | "deny"): Promise<void> {
  const path = `/turns/${encodeURIComponent(io.args["turn"] ?? "")}/${action}`;
  const answer = await io.gateway.request<Decided>("POST", path, {
    call: io.args["call"],
    reason: io.options["reason"],
  });
  io.show(answer, ({ tool, decision, waiting }) => {
    const rest = waiting === 0 ? "The turn goes on." : `Calls that still wait: ${waiting}.`;
    return `The call of ${tool} is ${decision}. ${rest}`;
  });
}

async function act(io: CommandIO, action: "cancel" | "replay"): Promise<void> {
  const path = `/turns/${encodeURIComponent(io.args["turn"] ?? "")}/${action}`;
  const answer = await io.gateway.request<{ ok: boolean }>("POST", path);
  io.show(answer, ({ ok }) => (ok ? "Done." : "It had ended already."));
}

async function list(io: CommandIO): Promise<void> {
  const { state, session, principal, limit } = io.options as Record<string, string | undefined>;
  const answer = await io.gateway.request<{ turns: TurnStatus[] }>("GET", "/turns", undefined, {
    query: { state, session, principal, limit },
  });
  io.show(answer, ({ turns }) => {
    const ids = shortIds(turns.map(({ turnId }) => turnId));
    return io.table(
      ["TURN", "STATE", "TRIES", "SESSION", "FOR", "CREATED", "ERROR"],
      turns.map(({ state: now, attempts, sessionId, principal: by, createdAt, error }, index) => [
        ids[index],
        now,
        attempts,
        sessionId,
        by,
        createdAt,
        error?.message,
      ]),
    );
  });
}

export default defineCommand({
  name: "turns",
  summary: "Turns of the agent: waiting, running, ended, dead",
  commands: [
    {
      name: "list",
      summary: "Turns, newest first",
      options: {
        state: {
          type: "string",
          value: "STATE",
          choices: ["queued", "running", "waiting", "done", "dead", "cancelled"],
          description: "Only those in this state",
        },
        session: { type: "string", value: "SESSION", description: "Only those of this session" },
        principal: {
          type: "string",
          value: "WHO",
          description: "Only those on behalf of owner, key:NAME, webhook:NAME, poll:NAME, outside",
        },
        limit: { type: "number", value: "N", description: "At most this many; default: 50" },
      },
      run: list,
    },
    {
      name: "show",
      summary: "What a turn did: steps, tool calls, tokens, cost",
      args: [turn],
      async run(io) {
        const path = `/turns/${encodeURIComponent(io.args["turn"] ?? "")}`;
        io.show(await io.gateway.request<TurnReport>("GET", path), describeTurn);
      },
    },
    {
      name: "confirm",
      summary: "Allow a tool call that waits for you",
      args: [turn, call],
      run: (io) => decide(io, "confirm"),
    },
    {
      name: "deny",
      summary: "Refuse a tool call that waits for you",
      args: [turn, call],
      options: {
        reason: { type: "string", value: "TEXT", description: "Why: the model is told" },
      },
      run: (io) => decide(io, "deny"),
    },
    {
      name: "cancel",
      summary: "Stop a turn that waits or runs",
      args: [turn],
      run: (io) => act(io, "cancel"),
    },
    {
      name: "replay",
      summary: "Run a dead or cancelled turn again",
      args: [turn],
      run: (io) => act(io, "replay"),
    },
  ],
});
