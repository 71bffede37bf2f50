/** Two gateways behind one name, over one PostgreSQL: while one is killed the other goes on, and takes its turns up. */
import * as assert from "uvu/assert";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";
import { clientOf, numberedRequest, TOKEN } from "../../webhooks/sender.ts";
import { random } from "../temporary-store.ts";

const test = suite("gateways that are killed");
const next = random(5);
const senders = 6;
const kills = 3;
let server: TestPostgres;
const gateways: SpawnedGateway[] = [];
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.after(async () => {
  for (const gateway of gateways) await gateway.stop();
  await server.stop();
});

test("all requests that either gateway acknowledged finish, each session in order and each request once", async () => {
  const config = {
    store: { url: server.emptyUrl() },
    agents: { defaults: { model: "echo", heartbeat: { every: "0", cooldownMs: 50 } } },
    webhooks: { token: TOKEN, rateLimit: { maxRequests: 1_000_000, windowMs: 60_000 } },
  };
  const homes = [makeHome(), makeHome()];
  gateways.push(...(await Promise.all(homes.map((home) => spawnGateway({ home, config })))));
  const acknowledged: string[] = [];
  let over = false;

  /** Returns the number of the sender's requests that received a response before the end. */
  async function send(sender: number): Promise<number> {
    for (let n = 1; ; n++) {
      if (!(await sendUntilAnswered(sender, n))) return n - 1;
    }
  }

  /** A request that was not answered goes to the other gateway, with the same key. False: the test is over. */
  async function sendUntilAnswered(sender: number, n: number): Promise<boolean> {
    for (let turn = sender; !over; turn++) {
      const client = clientOf(() => (gateways[turn % 2] as SpawnedGateway).url);
      const response = await client.send(...numberedRequest(sender, n)).catch(() => {});
      if (response === undefined) continue;
      assert.is(response.status, 200, response.text);
      const { turnId, eventId } = response.body;
      acknowledged.push(turnId ? `turns/${turnId}` : `events/${eventId}`);
      return true;
    }
    return false;
  }

  const working = Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
  for (let kill = 0; kill < kills; kill++) {
    const before = acknowledged.length;
    await until("more of them", () => acknowledged.length > before + 20 + next() * 40);
    const victim = kill % 2;
    await (gateways[victim] as SpawnedGateway).kill("SIGKILL");
    gateways[victim] = await spawnGateway({ home: homes[victim] as string });
  }
  over = true;
  const sent = await working;

  const [gateway] = gateways as [SpawnedGateway];
  const client = clientOf(() => gateway.url);
  for (const path of new Set(acknowledged)) {
    const { body } = await until(`${path} to end`, async () => {
      const response = await client.status(`/hooks/${path}`);
      return ["queued", "running"].includes(response.body.state) ? undefined : response;
    });
    assert.is(body.state, "done", JSON.stringify(body));
  }
  for (let sender = 0; sender < senders; sender += 2) {
    const { messages } = await gateway.json(
      "GET",
      `/sessions/${encodeURIComponent(`kill:${sender}`)}`,
    );
    const numbers = messages
      .filter(({ role }: { role: string }) => role === "user")
      .map(({ content }: { content: string }) => Number(/^number (\d+)\.$/.exec(content)?.[1]));
    // the last request of all may have been accepted without its answer being seen
    assert.ok(numbers.length - (sent[sender] as number) <= 1);
    assert.equal(
      numbers,
      Array.from(numbers, (_, i) => i + 1),
      `session ${sender} in order, each once`,
    );
  }
});

test.run();
