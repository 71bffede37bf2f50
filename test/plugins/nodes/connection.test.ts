/** The connection to a node: lost in the middle of an action, frozen, made again. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { freePort } from "../../support/free-port.ts";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { until, untilRight } from "../../support/until.ts";
import { type Site, startBrowser, startSite } from "../browser/support.ts";
import { createNodes, knock, NO_BROWSER, nodesOf, stateOf } from "./support.ts";

const { joinAs, start, stopAll } = createNodes();
const QUICK = { gateway: { nodes: { heartbeatMs: 1000 } } };
let site: Site;

test.before(async () => {
  site = await startSite({ "/": "<title>there</title><button>Go</button>" });
});
test.after.each(stopAll);
test.after(() => site.stop());

test("a node killed in the middle of an action leads to a 503, and reconnects", async () => {
  const browser = await startBrowser(NO_BROWSER);
  const home = makeHome("portico-node-");
  try {
    const first = joinAs("handler", browser, { home });
    await first.says("Connected to");
    await browser.visit(site.url);
    const acting = browser.act("wait", { text: "never there", timeoutMs: 60_000 });
    await until(
      "the action to be under way",
      async () => (await nodesOf(browser))[0].inFlight === 1,
    );
    first.child.kill("SIGKILL");
    const { status, body, headers } = await acting;
    assert.is(status, 503);
    assert.is(body.error.code, "node_unavailable");
    assert.match(body.error.message, "handler");
    assert.ok(headers.get("retry-after"));
    assert.is((await browser.get("/snapshot")).body.error.code, "node_unavailable");
    assert.is(await stateOf(browser, "handler"), "gone");
    await joinAs("handler", browser, { home }).says("Connected to");
    await until(
      "the node to be back",
      async () => (await stateOf(browser, "handler")) === "connected",
    );
    await browser.visit(site.url);
    assert.is((await nodesOf(browser)).length, 1);
  } finally {
    await stopAll();
    await browser.stop();
    rmSync(home, { recursive: true, force: true });
  }
});

test("a frozen node is detected, and accepted again when it resumes", async () => {
  const browser = await startBrowser(NO_BROWSER, { config: QUICK });
  try {
    const node = joinAs("handler", browser);
    await node.says("Connected to");
    node.child.kill("SIGSTOP");
    const response = await browser.post("/start");
    assert.is(response.body.error.code, "node_unavailable");
    node.child.kill("SIGCONT");
    await until(
      "the node to be back",
      async () => (await stateOf(browser, "handler")) === "connected",
    );
    // One that is slow to answer may be given up once more.
    await untilRight(
      async () => (await browser.get("/")).body.node,
      (name) => name === "handler",
    );
  } finally {
    await stopAll();
    await browser.stop();
  }
});

test("a node waits for an unavailable gateway and survives its restart", async () => {
  const port = await freePort(2, 3);
  const node = start({ gateway: `http://127.0.0.1:${port}`, token: "right", name: "handler" });
  await node.says(/http:\/\/127\.0\.0\.1:\d+ .*ECONNREFUSED/);
  const config = { gateway: { port, auth: { token: "right" } } };
  const first = await startGateway({ config });
  await node.says("Connected to");
  await first.stop();
  await node.says(/connection to .* ended: the gateway is stopping/);
  const second = await startGateway({ config });
  await until(
    "the node to be back",
    async () => (await second.json("GET", "/nodes")).nodes[0]?.state === "connected",
  );
  await second.stop();
});

test("a gateway that stops closes the connection of a node that has not introduced itself yet", async () => {
  const gateway = await startGateway();
  const node = knock(gateway, "silent");
  await once(node, "message");
  const ended = once(node, "close");
  await gateway.stop();
  const [code] = await ended;
  assert.is(code, 1001);
});

test.run();
