/** What a gateway's owner is told of nodes that its profiles need and do not have. The node is the test's. */
import { once } from "node:events";
import * as assert from "uvu/assert";
import checkBrowser from "../../../plugins/browser/check.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { until, untilRight } from "../../support/until.ts";
import { knock, NO_BROWSER } from "./support.ts";

let gateway: InProcessGateway;
const config = (mode: string) => ({
  gateway: { port: 0, auth: { token: "the-token" }, nodes: { browser: { mode } } },
  browser: { ...NO_BROWSER, profiles: { work: { node: "laptop" }, own: {} } },
});

test.before(async () => {
  gateway = await startGateway({ config: config("auto") });
});
test.after(() => gateway.stop());

async function notices(): Promise<string[]> {
  const status = await gateway.json("GET", "/kernel/status");
  return status.notices.flatMap(({ from, text }: { from: string; text: string }) =>
    from === "nodes" ? [text] : [],
  );
}

/** What `portico doctor` says of the browser. */
async function diagnosis(): Promise<string> {
  const paths = gateway.gateway.paths;
  const asking = { request: <T>(method: string, path: string) => gateway.json<T>(method, path) };
  const context = { config: config("auto"), paths, env: {}, gateway: asking };
  const [{ level, message }] = (await checkBrowser(context as never)) as [
    { level: string; message: string },
  ];
  return `${level} ${message}`;
}

test("the status names profiles whose node is missing, and does not while it is connected", async () => {
  assert.equal(await notices(), [
    "Browser profile work cannot be used: node laptop is not connected; run 'portico node --name laptop' on the machine with the browser.",
  ]);
  assert.match(await diagnosis(), /^warning /);
  const node = knock(gateway, "laptop");
  await once(node, "open");
  const hello = (browser: boolean): void =>
    node.send(JSON.stringify({ t: "hello", version: "1", platform: "x", browser, profiles: [] }));
  hello(true);
  await untilRight(notices, (all) => all.length === 0);
  assert.is(await diagnosis(), "ok there is no local browser; the gateway uses the node laptop");
  hello(false);
  await untilRight(notices, ([first = ""]) => first.includes("offers no browser"));
  assert.match(await diagnosis(), /^warning /);
  node.close();
  await untilRight(notices, ([first = ""]) => first.includes("last seen"));
});

test("a profile that names a node while nodes are switched off is reported too", async () => {
  gateway.write("portico.json", JSON.stringify(config("off")));
  await until("the new settings", async () =>
    (await notices())[0]?.includes("gateway.nodes.browser.mode is off"),
  );
});

test.run();
