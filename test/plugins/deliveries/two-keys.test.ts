/** Deliveries of two gateways on one PostgreSQL whose homes have different keys. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("deliveries of two gateways with different keys");
const TOKEN = "Bearer of-a-receiver";
const SECRET = `whsec_${Buffer.alloc(24, 8).toString("base64")}`;
const received: { path: string; headers: IncomingHttpHeaders }[] = [];
const receiver = createServer((req, res) => {
  received.push({ path: req.url ?? "", headers: req.headers });
  req.resume();
  req.on("end", () => res.writeHead(status).end());
});
let status = 200;
const homes = [makeHome(), makeHome()] as const;
let server: TestPostgres;
let store = "";
let target = "";
let first: InProcessGateway;
let second: InProcessGateway;

function start(home: string, mappings: object = {}): Promise<InProcessGateway> {
  return startGateway({
    home,
    config: {
      gateway: { auth: { token: "t" } },
      store: { url: store },
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      deliveries: { retryMs: [20] },
      webhooks: { token: "hook-token", mappings },
    },
  });
}

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  server = await startPostgres({ settings: ["fsync=off"] });
  store = server.emptyUrl();
  first = await start(homes[0]);
  second = await start(homes[1]);
  // each makes its own key
  for (const gateway of [first, second]) {
    await gateway.json("POST", "/agent", { message: "hi", delivery: deliveryTo("/own") });
  }
  await until("both to arrive", () => received.length >= 2);
});
test.after(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
  await server?.stop();
  receiver.close();
});

const deliveryTo = (path: string) => ({
  url: `${target}${path}`,
  secret: SECRET,
  headers: { authorization: TOKEN },
});
const payloadTo = (path: string) => ({
  kind: "agentTurn",
  message: "hi",
  delivery: deliveryTo(path),
});

function expectSigned(path: string): void {
  const requests = received.filter((request) => request.path === path);
  assert.ok(requests.length > 0, path);
  for (const { headers } of requests) {
    assert.match(String(headers["webhook-signature"]), /^v1,/);
    assert.is(headers.authorization, TOKEN);
  }
}

async function arrival(path: string): Promise<void> {
  await until(`${path} to arrive`, () => received.some((request) => request.path === path));
  expectSigned(path);
}

test("deliveries that the first gateway accepts arrive signed, whichever gateway sends them", async () => {
  const paths = Array.from({ length: 24 }, (_, n) => `/turn-${n}`);
  for (const path of paths)
    await first.json("POST", "/agent", { message: "hi", delivery: deliveryTo(path) });
  for (const path of paths) await arrival(path);
  const { deliveries } = await second.json("GET", "/deliveries?state=dead");
  assert.equal(deliveries, []);
});

test("a job that the first gateway stored runs at the second", async () => {
  await first.json("POST", "/cron/jobs", {
    name: "job",
    schedule: { kind: "every", everyMs: 86_400_000 },
    payload: payloadTo("/job"),
  });
  await second.json("POST", "/cron/jobs/job/run");
  await arrival("/job");
});

test("a poll that the first gateway stored is checked at the second", async () => {
  for (const home of homes) writeFileSync(join(home, "workspace", "watched.txt"), "one");
  await first.json("POST", "/polls", {
    name: "poll",
    every: "1d",
    source: { kind: "file", path: "watched.txt" },
    payload: {
      ...payloadTo("/poll"),
      delivery: { ...deliveryTo("/poll"), headers: { authorization: TOKEN, "x-item": "{name}" } },
    },
  });
  await second.json("POST", "/polls/poll/run");
  writeFileSync(join(homes[1], "workspace", "watched.txt"), "two");
  const run = await second.json("POST", "/polls/poll/run");
  assert.is(run.turnIds?.length, 1, JSON.stringify(run));
  await arrival("/poll");
  const { headers } = received.find(({ path }) => path === "/poll")!;
  assert.is(headers["x-item"], "poll");
});

test("a delivery waits while the gateway with its key is down, and a copied key lets it be sent", async () => {
  await first.json("POST", "/cron/jobs", {
    name: "late",
    schedule: { kind: "every", everyMs: 86_400_000 },
    payload: payloadTo("/late"),
  });
  await first.stop();
  await second.json("POST", "/cron/jobs/late/run");
  const late = await until("an attempt without the key", async () => {
    const { deliveries } = await second.json("GET", "/deliveries");
    const delivery = deliveries.find(({ url }: { url: string }) => url.endsWith("/late"));
    return delivery?.attempts > 10 ? delivery : undefined;
  });
  assert.is.not(late.state, "dead");
  assert.is(late.error.code, "delivery_key_unknown");
  copyFileSync(join(homes[0], "state", "delivery-key"), join(homes[1], "state", "delivery-key"));
  await arrival("/late");
});

test("a delivery whose secret is only in the configuration of one gateway waits for that gateway", async () => {
  const mapping = { message: "hi", delivery: deliveryTo("/mapping") };
  first = await start(homes[0], { mapped: mapping });
  await second.stop();
  // the receiver refuses until the other gateway has taken over
  status = 503;
  await first.request("POST", "/hooks/mapped", {}, { token: "hook-token" });
  await until("an attempt", () => received.some(({ path }) => path === "/mapping"));
  await first.stop();
  second = await start(homes[1]);
  status = 200;
  await until("attempts without the mapping", async () => {
    const { deliveries } = await second.json("GET", "/deliveries");
    const delivery = deliveries.find(({ url }: { url: string }) => url.endsWith("/mapping"));
    return delivery.attempts > 12 && delivery.state !== "dead";
  });
  received.length = 0;
  first = await start(homes[0], { mapped: mapping });
  await arrival("/mapping");
});

test.run();
