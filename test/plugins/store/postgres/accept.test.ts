/** Turns by webhook to several gateways at once, over one PostgreSQL: each is accepted, and done once. */
import * as assert from "uvu/assert";
import { type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";
import {
  isRetryable,
  startPostgres,
  type TestPostgres,
} from "../../../support/machine/postgres.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";
import { clientOf, TOKEN } from "../../webhooks/sender.ts";

const CALLERS = 20;
const TURNS = 80;
/** A limit for a machine with other work. If writes waited for each other, far more would be refused. */
const MOST_REFUSALS = TURNS / 4;

const test = suite("turns by webhook to several gateways");
let server: TestPostgres;
let gateways: SpawnedGateway[] = [];
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.after.each(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
  server.refuseDeadlocks();
});
test.after(() => server.stop());

async function start(count: number, workers: number): Promise<void> {
  const config = {
    gateway: { workers },
    store: { url: server.emptyUrl() },
    agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
    webhooks: { token: TOKEN, rateLimit: { maxRequests: 1_000_000, windowMs: 60_000 } },
  };
  gateways = await Promise.all(Array.from({ length: count }, () => spawnGateway({ config })));
}

/** The callers send to the gateways in turn; returns the ids of the turns. */
async function sendAll(): Promise<string[]> {
  const clients = gateways.map((gateway) => clientOf(() => gateway.url));
  const turnIds: string[] = [];
  let next = 0;
  let refusals = 0;
  const caller = async () => {
    for (let n = next++; n < TURNS; n = next++) {
      const body = { message: `number ${n}.`, session: `accept:${n}` };
      const send = () => clients[n % clients.length]!.send("/hooks/agent", body);
      let response = await send();
      while (isRetryable(response.status, response.text) && refusals++ < MOST_REFUSALS)
        response = await send();
      assert.is(response.status, 200, response.text);
      turnIds.push(response.body.turnId);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return turnIds;
}

async function expectDoneOnce(turnIds: readonly string[]): Promise<void> {
  const client = clientOf(() => gateways[0]!.url);
  for (const id of turnIds) {
    const { body } = await until(`the turn ${id} to end`, async () => {
      const response = await client.status(`/hooks/turns/${id}`);
      return ["queued", "running"].includes(response.body.state) ? undefined : response;
    });
    assert.is(body.state, "done", JSON.stringify(body));
  }
  for (let n = 0; n < TURNS; n += 10) {
    const path = `/sessions/${encodeURIComponent(`accept:${n}`)}`;
    const { messages } = await gateways[0]!.json("GET", path);
    assert.equal(
      messages.map(({ role }: { role: string }) => role),
      ["user", "assistant"],
    );
  }
}

for (const [count, workers] of [
  [4, 1],
  [1, 3],
] as const) {
  test(`${count} with ${workers} workers each accept all at once, without a deadlock`, async () => {
    await start(count, workers);
    const turnIds = await sendAll();
    assert.is(new Set(turnIds).size, TURNS);
    await expectDoneOnce(turnIds);
  });
}

test.run();
