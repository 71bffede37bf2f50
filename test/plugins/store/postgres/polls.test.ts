/** A gateway that is killed while it checks a poll: another one makes the check again, long before it would be due. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";

const test = suite("polls of gateways that are killed");
/** Shorter than a lease: the other gateway has not waited for its end. */
const SOON_MS = 20_000;
let server: TestPostgres;
let source: Server;
const gateways: SpawnedGateway[] = [];
const requests: ServerResponse[] = [];
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
  // The first request never receives a response.
  source = createServer((_req, res) => {
    requests.push(res);
    if (requests.length > 1) res.end("[]");
  });
  source.listen(0, "127.0.0.1");
  await once(source, "listening");
});
test.after(async () => {
  for (const gateway of gateways) await gateway.stop();
  source.closeAllConnections();
  source.close();
  await server.stop();
});

test("another gateway repeats the check of a dead process of this machine at once", async () => {
  const config = {
    store: { url: server.emptyUrl() },
    agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
  };
  const first = await spawnGateway({ config });
  gateways.push(first);
  const { port } = source.address() as AddressInfo;
  const { id } = await first.json("POST", "/polls", {
    name: "hanging",
    every: "1s",
    source: { kind: "http", url: `http://127.0.0.1:${port}/` },
    allowPrivateNetwork: true,
    timeoutMs: 300_000,
  });
  await until("the check of the first gateway", () => requests.length === 1);
  const second = await spawnGateway({ config });
  gateways.push(second);
  await first.kill("SIGKILL");
  const killedAt = performance.now();
  await until("the check of the second gateway", () => requests.length === 2);
  assert.ok(performance.now() - killedAt < SOON_MS);
  const poll = await until("its end", async () => {
    const poll = await second.json("GET", `/polls/${id}`);
    return poll.state.lastStatus ? poll : undefined;
  });
  assert.is(poll.state.lastStatus, "baseline");
});

test.run();
