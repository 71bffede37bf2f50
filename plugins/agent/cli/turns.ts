/** `portico turns`: the agent's queue. */
import { commandFor, defineCommand } from "portico/command-line";
import type { TurnReport, TurnStatus } from "portico/agent";
import { shortIds } from "portico/store";
import { agentRoutes } from "../routes/routes-schema.ts";
import { describeTurn } from "./turn-report.ts";

const turn = { name: "turn", description: "The id of the turn, or the beginning or end of the id" };
const call = {
  name: "call",
  description: "The id of the call in `turns show`; optional if only one call is waiting",
  optional: true,
};

interface DecisionResult {
  tool: string;
  decision: string;
  waiting: number;
}

const list = commandFor<{ turns: TurnStatus[] }>("GET /turns", agentRoutes.turns, {
  name: "list",
  summary: "List the turns, newest first",
  view({ turns }, io) {
    const ids = shortIds(turns.map(({ turnId }) => turnId));
    return io.table(
      ["TURN", "STATE", "TRIES", "SESSION", "FOR", "CREATED", "ERROR"],
      turns.map(({ state, attempts, sessionId, principal, createdAt, error }, index) => [
        ids[index],
        state,
        attempts,
        sessionId,
        principal,
        createdAt,
        error?.message,
      ]),
    );
  },
});

const show = commandFor<TurnReport>("GET /turns/:id", agentRoutes.turn, {
  name: "show",
  summary: "Show what a turn did: steps, tool calls, tokens, cost",
  args: [turn],
  view: describeTurn,
});

const confirm = commandFor<DecisionResult>("POST /turns/:id/confirm", agentRoutes.confirm, {
  name: "confirm",
  summary: "Allow a tool call that needs your approval",
  args: [turn, call],
  view: describeDecision,
});

const deny = commandFor<DecisionResult>("POST /turns/:id/deny", agentRoutes.deny, {
  name: "deny",
  summary: "Refuse a tool call that needs your approval",
  args: [turn, call],
  options: {
    reason: { value: "TEXT", description: "The reason for the refusal, which the model receives" },
  },
  view: describeDecision,
});

const cancel = commandFor<{ ok: boolean }>("POST /turns/:id/cancel", agentRoutes.cancel, {
  name: "cancel",
  summary: "Stop a waiting or running turn",
  args: [turn],
  view: describeEffect,
});

const replay = commandFor<{ ok: boolean }>("POST /turns/:id/replay", agentRoutes.replay, {
  name: "replay",
  args: [turn],
  view: describeEffect,
});

export default defineCommand({
  name: "turns",
  summary: "List, show, approve, cancel and replay agent turns",
  commands: [list, show, confirm, deny, cancel, replay],
});

function describeDecision({ tool, decision, waiting }: DecisionResult): string {
  const rest = waiting === 0 ? "The turn continues." : `Calls still waiting: ${waiting}.`;
  return `The call of ${tool} is ${decision}. ${rest}`;
}

function describeEffect({ ok }: { ok: boolean }): string {
  return ok ? "Done." : "The turn had already ended.";
}
