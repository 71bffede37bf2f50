/** The cost of a turn without the model: the store, the events, the prompt, the loop. */
import { encodeRequest, exchange } from "../../chat/chat-load.ts";
import type { BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import { percentile } from "../../harness/measure.ts";
import type { GatewayArea, Reading } from "../area.ts";

const TURNS = 200;
const SESSIONS = 50;
/** The configuration has no channel, so the model is `echo`. */
export const TURN_CONFIG = { agents: { defaults: { heartbeat: { every: "0" } } } };

/** Runs turns over this number of connections, in growing sessions. */
export async function turns(gateway: BuiltGateway, connections: number): Promise<Reading> {
  const requests = Array.from({ length: SESSIONS }, (_, n) =>
    encodeRequest(gateway, "POST", "/agent", { message: "hello", wait: true, session: `s${n}` }),
  );
  const { perSecond, micros, times } = await load(
    gateway,
    { connections, count: TURNS },
    (socket, n) => exchange(socket, requests[n % SESSIONS]!),
  );
  return {
    "turns/s": perSecond,
    "CPU µs/turn": micros,
    "p50 ms": percentile(times, 0.5),
    "p95 ms": percentile(times, 0.95),
  };
}

const config = () => TURN_CONFIG;

export const agentAreas: readonly GatewayArea[] = [
  {
    name: "agent",
    what: "turns of the agent, one at a time",
    config,
    begin: (gateway) => () => turns(gateway, 1),
  },
  {
    name: "agents",
    what: "turns of the agent, 16 at once",
    config,
    begin: (gateway) => () => turns(gateway, 16),
  },
];
