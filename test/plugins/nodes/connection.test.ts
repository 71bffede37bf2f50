/** The connection to a node: refused, lost in the middle of an action, made again; and who is asked for a browser. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { WebSocket } from "ws";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { portico } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../browser/support.ts";
import { type NodeOptions, type NodeProcess, spawnNode } from "./support.ts";

const NO_BROWSER = { executablePath: "/nowhere/chrome" };
const QUICK = { gateway: { nodes: { heartbeatMs: 200 } } };
let site: Site;
const running: NodeProcess[] = [];

function start(options: NodeOptions): NodeProcess {
  const node = spawnNode(options);
  running.push(node);
  return node;
}
const joinAs = (name: string, { gateway }: BrowserGateway, more: Partial<NodeOptions> = {}): NodeProcess =>
  start({ gateway: gateway.url, token: gateway.token, name, ...more });

const nodesOf = async ({ gateway }: BrowserGateway): Promise<any[]> => (await gateway.json("GET", "/nodes")).nodes;
const stateOf = async (browser: BrowserGateway, name: string): Promise<string | undefined> =>
  (await nodesOf(browser)).find((node) => node.name === name)?.state;

test.before(async () => {
  site = await startSite({ "/": "<title>there</title><button>Go</button>" });
});
test.after.each(async () => {
  await Promise.all(running.splice(0).map((node) => node.stop()));
});
test.after(() => site.stop());

test("a node killed in the middle of an action answers 503, and comes back", async () => {
  const browser = await startBrowser(NO_BROWSER);
  const home = makeHome("portico-node-");
  try {
    const first = joinAs("desk", browser, { home });
    await first.says("Connected to");
    await browser.visit(site.url);
    const acting = browser.act("wait", { text: "never there", timeoutMs: 60_000 });
    await until("the action to be under way", async () => (await nodesOf(browser))[0].inFlight === 1);
    const killed = Date.now();
    first.child.kill("SIGKILL");
    const { status, body, headers } = await acting;
    assert.is(status, 503);
    assert.is(body.error.code, "node_unavailable");
    assert.match(body.error.message, "desk");
    assert.ok(headers.get("retry-after"));
    assert.ok(Date.now() - killed < 5000);
    assert.is((await browser.get("/snapshot")).body.error.code, "node_unavailable");
    assert.is(await stateOf(browser, "desk"), "gone");
    await joinAs("desk", browser, { home }).says("Connected to");
    assert.is(await stateOf(browser, "desk"), "connected");
    await browser.visit(site.url);
    assert.is((await nodesOf(browser)).length, 1);
  } finally {
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await browser.stop();
    rmSync(home, { recursive: true, force: true });
  }
});

test("a node that has frozen is found out, and taken back when it thaws", async () => {
  const browser = await startBrowser(NO_BROWSER, { config: QUICK });
  try {
    const node = joinAs("desk", browser);
    await node.says("Connected to");
    node.child.kill("SIGSTOP");
    const answer = await browser.post("/start");
    assert.is(answer.body.error.code, "node_unavailable");
    node.child.kill("SIGCONT");
    await until("the node to be back", async () => (await stateOf(browser, "desk")) === "connected");
    assert.is((await browser.get("/")).body.node, "desk");
  } finally {
    for (const node of running) node.child.kill("SIGCONT");
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await browser.stop();
  }
});

test("a node waits for a gateway that is not there, and outlives its restart", async () => {
  const reserved = createServer();
  await new Promise<void>((resolve) => reserved.listen(0, "127.0.0.1", resolve));
  const { port } = reserved.address() as AddressInfo;
  await new Promise((resolve) => reserved.close(resolve));
  const node = start({ gateway: `http://127.0.0.1:${port}`, token: "right", name: "desk" });
  await node.says(/No gateway can be reached at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/);
  const config = { gateway: { port, auth: { token: "right" } } };
  const first = await startGateway({ config });
  await node.says("Connected to");
  await first.stop();
  await node.says(/connection to .* ended/);
  const second = await startGateway({ config });
  await until("the node to be back", async () => (await second.json("GET", "/nodes")).nodes[0]?.state === "connected");
  await second.stop();
});

test("a refused node says why and ends", async () => {
  const browser = await startBrowser(NO_BROWSER);
  try {
    const { url, token } = browser.gateway;
    const wrong = start({ gateway: url, token: "wrong", name: "desk" });
    assert.is(await wrong.exited, 1);
    assert.match(wrong.output(), /refuses the token/);
    const none = start({ gateway: url, name: "desk" });
    assert.is(await none.exited, 1);
    assert.match(none.output(), /--token/);
    await joinAs("desk", browser).says("Connected to");
    const second = joinAs("desk", browser);
    assert.is(await second.exited, 1);
    assert.match(second.output(), /name desk: choose another one with --name/);
    assert.is(await stateOf(browser, "desk"), "connected");
    const old = new WebSocket(`${url.replace("http", "ws")}/nodes/connect`, {
      headers: { authorization: `Bearer ${token}`, "x-portico-node-protocol": "99", "x-portico-node-name": "old" },
    });
    old.on("error", () => {});
    const [, answer] = await once(old, "unexpected-response");
    assert.is(answer.statusCode, 426);
    answer.resume();
    const stranger = new WebSocket(`${url.replace("http", "ws")}/nodes/connect`);
    stranger.on("error", () => {});
    const [, refusal] = await once(stranger, "unexpected-response");
    assert.is(refusal.statusCode, 401);
    refusal.resume();
  } finally {
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await browser.stop();
  }
});

test("a profile names its node; a gateway with a browser of its own keeps the rest; off is off", async () => {
  const browser = await startBrowser({ profiles: { far: { node: "desk" }, lost: { node: "nobody" } } });
  try {
    assert.is((await browser.get("/", { profile: "far" })).body.error.code, "node_unavailable");
    await joinAs("desk", browser).says("Connected to");
    assert.is((await browser.get("/", { profile: "far" })).body.node, "desk");
    assert.is((await browser.post("/start", { profile: "far" })).body.profile, "portico");
    assert.is((await browser.get("/")).body.node, undefined, "the default profile is the gateway's own");
    assert.is((await browser.get("/")).body.running, false);
    const lost = await browser.get("/", { profile: "lost" });
    assert.is(lost.status, 503);
    assert.match(lost.body.error.message, "portico node --name nobody");
    const { gateway } = browser;
    const listed = await portico(gateway.home, ["nodes", "list", "--json"]);
    assert.is(JSON.parse(listed.stdout).nodes[0].name, "desk");
    assert.match((await portico(gateway.home, ["nodes", "list"])).stdout, /desk +connected/);
    const set = await portico(gateway.home, ["config", "set", "gateway.nodes.browser.mode", "off"]);
    assert.is(set.code, 0, set.stderr);
    const off = await until("the setting to hold", async () => {
      const answer = await browser.get("/", { profile: "far" });
      return answer.status === 503 ? answer : undefined;
    });
    assert.match(off.body.error.message, "gateway.nodes.browser.mode");
  } finally {
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await browser.stop();
  }
});

test("the gateway's policy holds on the node, and the node's own too", async () => {
  const ssrfPolicy = { dangerouslyAllowPrivateNetwork: false, allowedHostnames: ["localhost"] };
  const strict = await startBrowser({ ...NO_BROWSER, ssrfPolicy, evaluateEnabled: false });
  const open = await startBrowser(NO_BROWSER);
  try {
    await joinAs("desk", strict).says("Connected to");
    const own = { headless: true, noSandbox: true, ssrfPolicy: { dangerouslyAllowPrivateNetwork: false } };
    await joinAs("narrow", open, { config: { browser: own } }).says("Connected to");
    const refused = await strict.post("/navigate", { url: site.url });
    assert.is(refused.body.error.code, "navigation_blocked");
    const exempt = await strict.post("/navigate", { url: `http://localhost:${site.port}/` });
    assert.is(exempt.status, 200, JSON.stringify(exempt.body));
    assert.is((await strict.act("evaluate", { fn: "1" })).body.error.code, "evaluate_disabled");
    const narrowed = await open.post("/navigate", { url: site.url });
    assert.is(narrowed.body.error.code, "navigation_blocked", "the gateway would allow it, the node does not");
  } finally {
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await strict.stop();
    await open.stop();
  }
});

test("a node whose proxy is switched off offers nothing", async () => {
  const browser = await startBrowser(NO_BROWSER);
  try {
    const config = { nodeHost: { browserProxy: { enabled: false } } };
    await joinAs("desk", browser, { config }).says("Connected to");
    const answer = await until("the node to be known", async () => {
      const one = await browser.get("/");
      return one.status === 503 ? one : undefined;
    });
    assert.match(answer.body.error.message, "nodeHost.browserProxy.enabled");
  } finally {
    await Promise.all(running.splice(0).map((node) => node.stop()));
    await browser.stop();
  }
});

test.run();
