/** Who is asked for a browser, whose policy holds, and what a node makes of its settings. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { portico, porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import { type Site, startBrowser, startSite } from "../browser/support.ts";
import { createNodes, NO_BROWSER, nodesOf, stateOf } from "./support.ts";
import { headlessBrowser } from "../../support/machine/prepare.ts";

const { joinAs, start, stopAll } = createNodes();
let site: Site;

test.before(async () => {
  site = await startSite({ "/": "<title>there</title><button>Go</button>" });
});
test.after.each(stopAll);
test.after(() => site.stop());

test("a profile names its node, and a gateway with a browser of its own keeps the other profiles", async () => {
  const browser = await startBrowser({
    profiles: { far: { node: "handler" }, lost: { node: "nobody" } },
  });
  try {
    assert.is((await browser.get("/", { profile: "far" })).body.error.code, "node_unavailable");
    await joinAs("handler", browser).says("Connected to");
    assert.is((await browser.get("/", { profile: "far" })).body.node, "handler");
    const { profiles } = (await browser.get("/profiles")).body;
    assert.is(profiles.find(({ name }: { name: string }) => name === "far").node, "handler");
    const { gateway } = browser;
    assert.is((await browser.post("/start", { profile: "far" })).body.profile, "portico");
    assert.is(
      (await browser.get("/")).body.node,
      undefined,
      "the default profile is the gateway's own",
    );
    assert.is((await browser.get("/")).body.running, false);
    const params = {
      name: "browser",
      arguments: { action: "status", target: "node", node: "handler" },
    };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const headers = { accept: "application/json, text/event-stream" };
    const output = await (await gateway.request("POST", "/mcp", call, { headers })).text();
    assert.match(output, '\\"node\\":\\"handler\\"');
    const lost = await browser.get("/", { profile: "lost" });
    assert.is(lost.status, 503);
    assert.match(lost.body.error.message, "portico node --name nobody");
    const listed = await portico(gateway.home, ["nodes", "list", "--json"]);
    assert.is(JSON.parse(listed.stdout).nodes[0].name, "handler");
    assert.match((await porticoHere(gateway.home, ["nodes", "list"])).stdout, /handler +connected/);
    const set = await porticoHere(gateway.home, [
      "config",
      "set",
      "gateway.nodes.browser.mode",
      "off",
    ]);
    assert.is(set.code, 0, set.stderr);
    const off = await until("the setting to hold", async () => {
      const response = await browser.get("/", { profile: "far" });
      return response.status === 503 ? response : undefined;
    });
    assert.match(off.body.error.message, "gateway.nodes.browser.mode");
  } finally {
    await stopAll();
    await browser.stop();
  }
});

test("the gateway's policy holds on the node, and the node's own too", async () => {
  const ssrfPolicy = { dangerouslyAllowPrivateNetwork: false, allowedHostnames: ["localhost"] };
  const strict = await startBrowser({ ...NO_BROWSER, ssrfPolicy, evaluateEnabled: false });
  const open = await startBrowser(NO_BROWSER);
  try {
    await joinAs("handler", strict).says("Connected to");
    const own = { ...headlessBrowser, ssrfPolicy: { dangerouslyAllowPrivateNetwork: false } };
    await joinAs("narrow", open, { config: { browser: own } }).says("Connected to");
    const refused = await strict.post("/navigate", { url: site.url });
    assert.is(refused.body.error.code, "navigation_blocked");
    const exempt = await strict.post("/navigate", { url: `http://localhost:${site.port}/` });
    assert.is(exempt.status, 200, JSON.stringify(exempt.body));
    assert.is((await strict.act("evaluate", { fn: "1" })).body.error.code, "evaluate_disabled");
    const narrowed = await open.post("/navigate", { url: site.url });
    assert.is(
      narrowed.body.error.code,
      "navigation_blocked",
      "the gateway would allow it, the node does not",
    );
  } finally {
    await stopAll();
    await strict.stop();
    await open.stop();
  }
});

/** Keeps the addresses that `browser:navigated` told the gateway of. */
const WITNESS = {
  files: {
    "plugins/witness/plugin.ts": `import { definePlugin } from "portico";
      export default definePlugin({ name: "witness", setup(ctx) {
        const seen = [];
        ctx.on("browser:navigated", ({ context }) => { seen.push(context.url); });
        ctx.route("GET", "/witness", { access: "gateway" }, () => seen);
      } });`,
  },
};

test("a node whose proxy is switched off offers and announces nothing", async () => {
  const browser = await startBrowser(NO_BROWSER, WITNESS);
  try {
    const config = { nodeHost: { browserProxy: { enabled: false } } };
    const node = joinAs("handler", browser, { config });
    await node.says("Connected to");
    const status = await until("the node to be known", async () => {
      const current = await browser.get("/");
      return current.status === 503 ? current : undefined;
    });
    assert.match(status.body.error.message, "nodeHost.browserProxy.enabled");
    assert.equal(
      [(await nodesOf(browser))[0].browser, (await nodesOf(browser))[0].profiles],
      [false, []],
    );
    const visit = async (path: string): Promise<void> => {
      const own = await portico(node.home, ["browser", "open", `${site.url}${path}`]);
      assert.is(own.code, 0, own.stderr);
    };
    await visit("/private");
    const set = await porticoHere(node.home, [
      "config",
      "set",
      "nodeHost.browserProxy.enabled",
      "true",
    ]);
    assert.is(set.code, 0, set.stderr);
    await until(
      "the node to offer it again",
      async () => (await browser.get("/")).body.node === "handler",
    );
    await visit("/shown");
    const tabUrls = await until("the address", async () => {
      const urls: string[] = await browser.gateway.json("GET", "/witness");
      return urls.includes(`${site.url}/shown`) ? urls : undefined;
    });
    assert.equal(
      tabUrls.filter((url) => url.startsWith(site.url)),
      [`${site.url}/shown`],
    );
  } finally {
    await stopAll();
    await browser.stop();
  }
});

test("a node follows its settings to another gateway, and a new token", async () => {
  const [before, after] = [await startBrowser(NO_BROWSER), await startBrowser(NO_BROWSER)];
  try {
    const { url: gateway, token } = before.gateway;
    const node = start({ config: { nodeHost: { gateway, token, name: "handler" } } });
    await node.says("Connected to");
    const set = async (key: string, value: string): Promise<void> => {
      const { code, stderr } = await porticoHere(node.home, ["config", "set", key, value]);
      assert.is(code, 0, stderr);
    };
    await set("nodeHost.gateway", after.gateway.url);
    await node.says("settings have changed");
    await node.says("gateway.auth.token");
    await set("nodeHost.token", after.gateway.token);
    await until(
      "the node at the other gateway",
      async () => (await stateOf(after, "handler")) === "connected",
    );
    assert.is(await stateOf(before, "handler"), "gone");
  } finally {
    await stopAll();
    await before.stop();
    await after.stop();
  }
});

test.run();
