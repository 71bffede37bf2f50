/** Results that are posted to URLs: signed, tried again, dead in the end, and nowhere they may not go. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";

const test = suite("deliveries");
const SECRET = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: any;
}
const received: Received[] = [];
const receiver = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8");
    const path = req.url ?? "";
    received.push({ path, headers: req.headers, text, body: JSON.parse(text) });
    const before = at(path).length;
    if (path.startsWith("/large"))
      return void res.writeHead(before <= 2 ? 500 : 200).end("x".repeat(200_000));
    if (path === "/cut")
      return void res.writeHead(200, { "content-length": 100 }).write("half", () => res.destroy());
    if (path === "/later") {
      const date = new Date(Date.now() + 1_800_000).toUTCString();
      return void res.writeHead(503, { "retry-after": date }).end();
    }
    const status =
      /^\/always-(\d+)/.exec(path)?.[1] ??
      (/^\/twice-(\d+)/.exec(path)?.[1] && before <= 2 ? 503 : 200);
    res.writeHead(Number(status), { location: "http://169.254.169.254/" }).end();
  });
});
const at = (path: string): Received[] => received.filter((delivery) => delivery.path === path);
let target = "";
let gateway: InProcessGateway;
const config = () => ({
  channels: {
    refusing: { provider: "openai", baseUrl: `${target}/always-400`, models: ["m"] },
  },
  agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
  deliveries: { retryMs: [10, 20] },
  webhooks: {
    token: "hook-token",
    mappings: {
      build: { message: "Build {body.n}", delivery: { url: `${target}/mapping`, secret: SECRET } },
    },
  },
});

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  gateway = await startGateway({ config: config() });
});
test.after(async () => {
  await gateway.stop();
  receiver.close();
});

interface View {
  id: string;
  state: string;
  attempts: number;
  error?: { code: string };
  nextAttemptAt?: string;
}
const view = (turnId: string) => gateway.json<View>("GET", `/deliveries/dlv_${turnId}`);
const ended = (turnId: string) =>
  until(`the delivery of ${turnId}`, async () => {
    const response = await gateway.request("GET", `/deliveries/dlv_${turnId}`);
    const delivery = (await response.json()) as View;
    return response.ok && (delivery.state === "done" || delivery.state === "dead")
      ? delivery
      : undefined;
  });
const start = async (delivery: unknown, more: object = {}): Promise<string> =>
  (await gateway.json("POST", "/agent", { message: "hello", session: "d", delivery, ...more }))
    .turnId;

test("only the status decides: a large error body is no success, and a success needs no complete body", async () => {
  const large = await ended(await start({ url: `${target}/large` }));
  assert.equal([large.state, at("/large").length], ["done", 3]);
  const cut = await ended(await start({ url: `${target}/cut` }));
  assert.equal([cut.state, cut.attempts, at("/cut").length], ["done", 1, 1]);
});

test("Retry-After can be a date", async () => {
  const turnId = await start({ url: `${target}/later` });
  const waiting = await until("the first attempt", async () => {
    const response = await gateway.request("GET", `/deliveries/dlv_${turnId}`);
    const delivery = (await response.json()) as View;
    return response.ok && delivery.nextAttemptAt !== undefined ? delivery : undefined;
  });
  const inMs = Date.parse(waiting.nextAttemptAt!) - Date.now();
  assert.ok(inMs > 1_700_000 && inMs <= 1_801_000, `${inMs} ms`);
});

test("a result arrives once, signed according to Standard Webhooks, with the configured headers", async () => {
  const turnId = await start({
    url: `${target}/signed`,
    secret: SECRET,
    headers: { "X-Team": "red", Authorization: "k" },
  });
  assert.is((await ended(turnId)).state, "done");
  const [delivery, ...more] = at("/signed");
  assert.is(more.length, 0);
  assert.is(delivery?.body.type, "turn.completed");
  assert.ok(Date.parse(delivery?.body.timestamp));
  assert.equal(delivery?.body.data, {
    turnId,
    sessionId: "d",
    source: "http",
    result: "hello",
    model: "echo",
  });
  const {
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": signature,
  } = delivery?.headers ?? {};
  assert.is(id, `dlv_${turnId}`);
  const key = Buffer.from(SECRET.slice(6), "base64");
  assert.is(
    signature,
    `v1,${createHmac("sha256", key).update(`${id}.${time}.${delivery?.text}`).digest("base64")}`,
  );
  assert.is(delivery?.headers["x-team"], "red");
  assert.is(delivery?.headers.authorization, "k");
  const listing = JSON.stringify(await view(turnId));
  assert.not.match(listing, SECRET.slice(6));
  assert.match(listing, /"Authorization":"\*+"/);
});

test("a failed turn is delivered as well", async () => {
  const turnId = await start({ url: `${target}/failed` }, { model: "refusing/m" });
  await ended(turnId);
  const [delivery] = at("/failed");
  assert.is(delivery?.body.type, "turn.failed");
  assert.is(delivery?.body.data.error.code, "invalid_request_error");
  assert.is(delivery?.headers["webhook-signature"], undefined);
});

test("a failed delivery is retried with the same id", async () => {
  const turnId = await start({ url: `${target}/twice-503` });
  assert.is((await ended(turnId)).attempts, 3);
  assert.is(new Set(at("/twice-503").map(({ headers }) => headers["webhook-id"])).size, 1);
});

test("after eight attempts a delivery is dead, an event reports it, and it can be replayed", async () => {
  const turnId = await start({ url: `${target}/always-500` });
  const dead = await ended(turnId);
  assert.is(dead.state, "dead");
  assert.is(dead.attempts, 8);
  assert.is(dead.error?.code, "http_500");
  assert.is(at("/always-500").length, 8);
  assert.ok(gateway.lines.some(({ deliveryId }) => deliveryId === dead.id));
  await gateway.json("POST", `/deliveries/${dead.id}/replay`);
  await until("the ninth", () => at("/always-500").length > 8);
  const dead410 = await ended(await start({ url: `${target}/always-410` }));
  assert.equal([dead410.state, dead410.attempts], ["dead", 1]);
  const { notices } = await gateway.json("GET", "/kernel/status");
  assert.ok(
    notices.some(
      ({ from, text }: { from: string; text: string }) =>
        from === "deliveries" && /--state dead/.test(text),
    ),
  );
  const redirected = await ended(await start({ url: `${target}/always-302` }));
  assert.is(redirected.state, "dead", "redirects are not followed");
});

test("mappings deliver too", async () => {
  const response = await fetch(`${gateway.url}/hooks/build`, {
    method: "POST",
    headers: { authorization: "Bearer hook-token", "content-type": "application/json" },
    body: '{"n":7}',
  });
  const { turnId } = (await response.json()) as { turnId: string };
  await ended(turnId);
  assert.match(at("/mapping")[0]?.body.data.result, /Build 7/);
});

test("cron jobs deliver too", async () => {
  const job = await gateway.json("POST", "/cron/jobs", {
    name: "report",
    schedule: { kind: "at", at: "2099-01-01T00:00:00Z" },
    payload: { kind: "agentTurn", message: "report", delivery: { url: `${target}/cron` } },
  });
  await gateway.json("POST", `/cron/jobs/${job.id}/run`);
  await until("the job's result", () => at("/cron").length === 1);
});

test("nothing is sent to an address that the guard forbids", async () => {
  const agent = (delivery: unknown) =>
    gateway.request("POST", "/agent", { message: "x", delivery });
  const hook = (delivery: unknown) =>
    fetch(`${gateway.url}/hooks/agent`, {
      method: "POST",
      headers: { authorization: "Bearer hook-token", "content-type": "application/json" },
      body: JSON.stringify({ message: "x", delivery }),
    });
  const refused = async (response: Response, status: number, what: string) => {
    assert.is(response.status, status, `${what}: ${await response.text()}`);
  };
  for (const url of [
    "http://169.254.169.254/latest",
    "http://metadata.google.internal/",
    "http://[fd00:ec2::254]/",
  ])
    for (const send of [agent, hook]) await refused(await send({ url }), 403, url);
  for (const url of [
    "http://127.0.0.1:1/",
    "http://localhost/x",
    "http://10.0.0.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://0x7f.1/",
  ])
    await refused(await hook({ url }), 403, url);
  for (const delivery of [
    { url: "ftp://x/" },
    { url: "nonsense" },
    { url: "https://x.test/", secret: "short" },
    { url: "https://x.test/", headers: { "a b": "c" } },
    { url: "https://x.test/", headers: { host: "c" } },
    { url: "https://x.test/", headers: { x: "a\r\nb: c" } },
    { url: "https://x.test/", publicOnly: false },
    { secret: SECRET },
    "somewhere",
  ])
    for (const send of [agent, hook])
      await refused(await send(delivery), 400, JSON.stringify(delivery));
  const own = { url: `${gateway.url}/agent` };
  for (const send of [agent, hook]) await refused(await send(own), 403, own.url);
});

test("addresses that the settings exempt for the owner are refused to a webhook key on its request", async () => {
  const other = await startGateway({
    config: {
      ...config(),
      deliveries: { allowPrivateNetwork: true, allowedHostnames: ["127.0.0.1", "localhost"] },
      webhooks: { token: "hook-token", keys: { ci: { token: "key-of-a-stranger" } } },
    },
  });
  const ask = async (token: string, url: string) => {
    const response = await fetch(`${other.url}/hooks/agent`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ message: "x", delivery: { url } }),
    });
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code];
  };
  for (const host of ["127.0.0.1", "localhost"]) {
    const url = `${target.replace("127.0.0.1", host)}/exempt-${host}`;
    assert.equal(await ask("hook-token", url), [200, undefined]);
    await until(`the delivery to ${host}`, () => at(`/exempt-${host}`).length === 1);
    assert.equal(await ask("key-of-a-stranger", url), [403, "address_blocked"]);
  }
  assert.equal((await other.json("GET", "/turns")).turns.length, 2);
  await other.stop();
});

test("the command line lists, shows and replays, by a short id", async () => {
  const turnId = await start({ url: `${target}/line` });
  await ended(turnId);
  const list = await porticoHere(gateway.home, [
    "deliveries",
    "list",
    "--state",
    "done",
    "--limit",
    "3",
  ]);
  assert.is(list.code, 0, list.stderr);
  const [, short = ""] = /^dlv_(\w+) .*done/m.exec(list.stdout) ?? [];
  assert.ok(short.length < 20 && turnId.endsWith(short), list.stdout);
  const bare = await porticoHere(gateway.home, ["deliveries", "--state", "done", "--limit", "3"]);
  assert.is(bare.stdout, list.stdout, "without a further word it lists them too");
  const before = ["deliveries", "--limit", "3", "--url", gateway.url, "list", "--state", "done"];
  const listBefore = await porticoHere(gateway.home, [...before, "--token", gateway.token]);
  assert.is(listBefore.stdout, list.stdout, "options may stand before the subcommand");
  const wrongWord = await porticoHere(gateway.home, ["deliveries", "lsit"]);
  assert.is(wrongWord.code, 2);
  assert.match(wrongWord.stderr, "Did you mean list?");
  const show = await porticoHere(gateway.home, ["deliveries", "show", short]);
  assert.match(show.stdout, /turn\.completed[\s\S]*hello/);
  const replay = await porticoHere(gateway.home, ["deliveries", "replay", `dlv_${turnId}`]);
  assert.match(replay.stdout, /is sent again/);
  await until("the second", () => at("/line").length === 2);
  const wrong = await porticoHere(gateway.home, ["deliveries", "show", "dlv_none"]);
  assert.is(wrong.code, 1);
  assert.match(wrong.stderr, /no delivery dlv_none/);
});

test("a delivery survives a restart of the gateway", async () => {
  const home = makeHome();
  const slow = { ...config(), deliveries: { retryMs: [300] } };
  let other = await startGateway({ home, config: slow });
  const { turnId } = await other.json("POST", "/agent", {
    message: "later",
    delivery: { url: `${target}/twice-1` },
  });
  await until("the first attempt", () => at("/twice-1").length === 1);
  await other.stop();
  other = await startGateway({ home });
  try {
    await until("its arrival", () => at("/twice-1").length === 3);
    assert.is(at("/twice-1")[2]?.headers["webhook-id"], `dlv_${turnId}`);
  } finally {
    await other.stop();
  }
});

test.run();
