/** Deliveries, turns and jobs whose rows an older version wrote: their targets have their secrets in the clear. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("deliveries of an older version");
const SECRET = `whsec_${Buffer.alloc(24, 8).toString("base64")}`;
const TOKEN = "Bearer very-secret-token-of-a-receiver";
const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
let status = 200;
const receiver = createServer(async (req, res) => {
  let body = "";
  for await (const part of req) body += part;
  received.push({ path: req.url ?? "", headers: req.headers, body });
  res.writeHead(status).end();
});
let target = "";
let g: InProcessGateway;

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  g = await startGateway({
    config: {
      gateway: { auth: { token: "t" } },
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      deliveries: { retryMs: [20] },
    },
  });
});
test.after(async () => {
  await g?.stop();
  receiver.close();
});

/** As rows had it before secrets were sealed. */
const oldTarget = (path: string) => ({
  url: `${target}${path}`,
  secret: SECRET,
  headers: { authorization: TOKEN },
});
const message = (turnId: string) => ({
  type: "turn.completed",
  timestamp: "2026-11-20T08:00:00.000Z",
  data: { turnId, sessionId: "main", source: "webhook", result: "done" },
});

async function arrival(path: string) {
  const request = await until(`${path} to arrive`, () =>
    received.find((candidate) => candidate.path === path),
  );
  assert.match(String(request.headers["webhook-signature"]), /^v1,/);
  assert.is(request.headers.authorization, TOKEN);
  return request;
}

/** A row of the queue without a principal, as it was before there were any. */
async function addDelivery(id: string, path: string): Promise<void> {
  const body = { target: oldTarget(path), message: message(id) };
  const item = { id, lane: id, kind: "delivery", body, maxAttempts: 8 };
  await g.gateway.use("store").enqueue({ items: [item] });
}

test("a delivery is sent signed and with its headers, and its listing shows no secret", async () => {
  await addDelivery("dlv_turn_old1", "/old");
  const { body } = await arrival("/old");
  assert.equal(JSON.parse(body), message("dlv_turn_old1"));
  const delivery = await g.json("GET", "/deliveries/dlv_turn_old1");
  assert.is(delivery.signed, true);
  assert.not.match(JSON.stringify(delivery), /very-secret|whsec_/);
});

test("its replay is stored encrypted", async () => {
  received.length = 0;
  await until(
    "its end",
    async () => (await g.json("GET", "/deliveries/dlv_turn_old1")).state === "done",
  );
  const { deliveryId } = await g.json("POST", "/deliveries/dlv_turn_old1/replay");
  await arrival("/old");
  const item = await g.gateway.use("store").items.get(deliveryId);
  assert.not.match(JSON.stringify(item?.body), /very-secret|whsec_/);
});

test("a delivery that fails permanently is dead, and its event has an address without credentials", async () => {
  status = 410;
  await addDelivery("dlv_turn_old2", "/gone");
  await until(
    "its end",
    async () => (await g.json("GET", "/deliveries/dlv_turn_old2")).state === "dead",
  );
  status = 200;
  assert.is((await g.request("POST", "/deliveries/dlv_turn_old2/replay")).status, 200);
  await until(
    "its arrival",
    async () => (await g.json("GET", "/deliveries/dlv_turn_old2")).state === "done",
  );
});

test("a turn that was waiting delivers its result, and does not store its secret in the clear again", async () => {
  const body = {
    message: "hi",
    sessionId: "hook:old",
    source: "webhook",
    delivery: oldTarget("/turn"),
    createdAt: Date.now(),
  };
  const item = { id: "turn_old3", lane: "hook:old", kind: "turn", body, maxAttempts: 3 };
  await g.gateway.use("store").enqueue({ items: [item] });
  const { headers } = await arrival("/turn");
  const stored = await g.gateway.use("store").items.get(String(headers["webhook-id"]));
  assert.not.match(JSON.stringify(stored?.body), /very-secret|whsec_/);
});

test("a job shows no secret, delivers, and is stored encrypted once it is changed", async () => {
  const id = await addJob("old", "/job");
  const { schedules } = g.gateway.use("store");
  assert.not.match(JSON.stringify(await g.json("GET", "/cron/jobs/old")), /very-secret|whsec_/);
  await g.json("POST", "/cron/jobs/old/run");
  await arrival("/job");
  const job = await g.json("GET", "/cron/jobs/old");
  await g.json("PATCH", "/cron/jobs/old", { payload: { ...job.payload, message: "changed" } });
  received.length = 0;
  await g.json("POST", "/cron/jobs/old/run");
  await arrival("/job");
  assert.not.match(JSON.stringify((await schedules.get("cron", id))?.body), /very-secret|whsec_/);
});

const payload = { kind: "agentTurn", message: "hi" };
const schedule = { kind: "every", everyMs: 86_400_000 };

/** A job as an older version has stored it. */
async function addJob(name: string, path: string): Promise<string> {
  const { id } = await g.json("POST", "/cron/jobs", { name, schedule, payload });
  await storeInTheClear("cron", id, path);
  return id;
}

async function storeInTheClear(kind: string, id: string, path: string): Promise<void> {
  const { schedules } = g.gateway.use("store");
  const row = (await schedules.get(kind, id))!;
  const body = { ...(row.body as object), payload: { ...payload, delivery: oldTarget(path) } };
  await schedules.put({ ...row, body });
}

test("the next start encrypts what jobs and polls have in the clear, and changes nothing else", async () => {
  const source = { kind: "http", url: target };
  const job = await addJob("asleep", "/asleep");
  const poll = await g.json("POST", "/polls", {
    name: "p",
    every: "1d",
    source,
    payload,
    enabled: false,
  });
  await storeInTheClear("poll", poll.id, "/poll");
  const read = async () => {
    const { schedules } = g.gateway.use("store");
    return [await schedules.get("cron", job), await schedules.get("poll", poll.id)];
  };
  const before = await read();
  assert.match(JSON.stringify(before), /very-secret.*very-secret/);
  for (const plugin of ["cron", "polls"])
    await g.json("POST", `/kernel/plugins/${plugin}/reload`, {});
  const after = await until("both to be encrypted", async () => {
    const rows = await read();
    return /very-secret|whsec_/.test(JSON.stringify(rows)) ? undefined : rows;
  });
  for (const [index, row] of after.entries()) {
    const { body, rev, updatedAt, ...rest } = row!;
    const { body: oldBody, rev: _rev, updatedAt: _updatedAt, ...oldRest } = before[index]!;
    assert.equal(rest, oldRest);
    assert.equal(withoutTarget(body), withoutTarget(oldBody));
  }
  received.length = 0;
  await g.json("POST", "/cron/jobs/asleep/run");
  await arrival("/asleep");
});

function withoutTarget(body: unknown): unknown {
  const { payload: stored, ...rest } = body as { payload: object };
  return { ...rest, payload: { ...stored, delivery: undefined } };
}

test("the log does not repeat a secret either", () => {
  assert.not.match(g.lines.join("\n"), /very-secret|whsec_/);
});

test.run();
