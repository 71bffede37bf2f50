/** `portico turns`: the agent's queue. */
import { defineCommand } from "portico/command-line";
import type { TurnStatus } from "portico/agent";
import { shortIds } from "portico/store";

const turn = { name: "turn", description: "Its id, or the end or beginning of it" };

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
          choices: ["queued", "running", "done", "dead", "cancelled"],
          description: "Only those in this state",
        },
        limit: { type: "number", value: "N", description: "At most this many; default: 50" },
      },
      async run(io) {
        const answer = await io.gateway.request<{ turns: TurnStatus[] }>(
          "GET",
          "/turns",
          undefined,
          {
            query: {
              state: io.options["state"] as string | undefined,
              limit: io.options["limit"] as number | undefined,
            },
          },
        );
        io.show(answer, ({ turns }) => {
          const ids = shortIds(turns.map(({ turnId }) => turnId));
          return io.table(
            ["TURN", "STATE", "TRIES", "SESSION", "CREATED", "ERROR"],
            turns.map(({ state, attempts, sessionId, createdAt, error }, index) => [
              ids[index],
              state,
              attempts,
              sessionId,
              createdAt,
              error?.message,
            ]),
          );
        });
      },
    },
    {
      name: "show",
      summary: "How a turn stands",
      args: [turn],
      async run(io) {
        const status = await io.gateway.request<TurnStatus>(
          "GET",
          `/turns/${encodeURIComponent(io.args["turn"] ?? "")}`,
        );
        io.show(status, (shown) => JSON.stringify(shown, null, 2));
      },
    },
    ...(["cancel", "replay"] as const).map((action) => ({
      name: action,
      summary:
        action === "cancel"
          ? "Stop a turn that waits or runs"
          : "Run a dead or cancelled turn again",
      args: [turn],
      async run(io: import("portico/command-line").CommandIO) {
        const path = `/turns/${encodeURIComponent(io.args["turn"] ?? "")}/${action}`;
        const answer = await io.gateway.request<{ ok: boolean }>("POST", path);
        io.show(answer, ({ ok }) => (ok ? "Done." : "It had ended already."));
      },
    })),
  ],
});
