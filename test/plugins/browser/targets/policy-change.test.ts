/** Browsers that no proxy of ours stands before: what a policy that changes does to them, and their debugging ports. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import {
  failed,
  type SharedBrowser,
  sharedBrowser,
  type Site,
  startBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: a policy that changes");
let site: Site;
let far: SharedBrowser;
let cdpUrl: string;

test.before(async () => {
  site = await startSite({ "/": "<title>Here</title>here", "/x": "x" });
  far = await sharedBrowser();
  await far.visit(site.url);
  const { cdpPort } = (await far.get("/")).body;
  cdpUrl = `http://127.0.0.1:${cdpPort}/?token=${far.gateway.token}`;
});
test.after(async () => {
  await far.stop();
  await site.stop();
});

/** Whether the page in that browser can load something. */
async function loads(): Promise<boolean> {
  const { body } = await far.act("evaluate", {
    fn: "fetch('/x', { cache: 'no-store' }).then(() => true, () => false)",
  });
  return body.result;
}

test("requests of a connected remote browser are checked once the policy applies, and no longer after it ends", async () => {
  const near = await startBrowser({ defaultProfile: "far", profiles: { far: { cdpUrl } } });
  const set = (ssrfPolicy: object): void => {
    const browser = { defaultProfile: "far", profiles: { far: { cdpUrl } }, ssrfPolicy };
    const { token } = near.gateway;
    near.gateway.write(
      "portico.json",
      JSON.stringify({ gateway: { port: 0, auth: { token } }, browser }),
    );
  };
  try {
    assert.is((await near.post("/start")).status, 200);
    assert.ok(await loads());
    set({ hostnameAllowlist: ["ok.localhost"] });
    await until("requests to be judged", async () => !(await loads()));
    const before = site.hits.length;
    assert.not.ok(await loads());
    assert.is(site.hits.length, before);
    set({ hostnameAllowlist: ["ok.localhost", "127.0.0.1"] });
    await until("the page to load things again", loads);
    set({});
    await until("the policy to be off", async () => (await near.get("/snapshot")).status === 200);
    assert.ok(await loads());
  } finally {
    await near.stop();
  }
});

test("the policy of the gateway that a node acts for holds at once, in browsers that are connected too", async () => {
  const files = {
    "plugins/asker/plugin.ts": `import { definePlugin } from "portico";
      export default definePlugin({ name: "asker", needs: ["browser"], setup(ctx) {
        ctx.route("POST", "/ask", { access: "gateway" }, async (call) => {
          const answer = await ctx.use("browser").request(await call.json());
          return "body" in answer ? answer.body : {};
        });
      } });`,
  };
  const near = await startBrowser(
    { defaultProfile: "far", profiles: { far: { cdpUrl } } },
    { files },
  );
  try {
    assert.is((await near.post("/start")).status, 200);
    assert.ok(await loads());
    const base = {
      allowPrivate: true,
      hostnameAllowlist: [],
      allowedHostnames: [],
      evaluateEnabled: true,
      ports: [],
    };
    const ask = (policy: object) =>
      near.gateway.request("POST", "/ask", {
        method: "GET",
        route: "/",
        policy: { ...base, ...policy },
      });
    assert.is((await ask({ allowPrivate: false })).status, 200);
    assert.not.ok(await loads());
    assert.is((await ask({})).status, 200);
    assert.ok(await loads());
  } finally {
    await near.stop();
  }
});

test("pages cannot reach debugging ports outside the range either", async () => {
  const endpoint = createServer((_req, res) => res.end("{}"));
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const { port } = endpoint.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const settings: Record<string, unknown>[] = [
    { profiles: { own: { cdpPort: port } } },
    { profiles: { mine: { cdpUrl: `ws://localhost:${port}/devtools` } } },
    {},
  ];
  try {
    for (const browser of settings) {
      const gateway = await startBrowser(browser);
      try {
        if (Object.keys(browser).length === 0)
          assert.is(
            (await gateway.post("/profiles/create", { name: "made", cdpUrl: url })).status,
            200,
          );
        const response = await gateway.post("/navigate", { url, profile: "portico" });
        failed(response, 403, "navigation_blocked");
        assert.is(response.body.error.reason ?? response.body.error.details?.reason, "own_port");
        assert.is((await gateway.get("/", { profile: "portico" })).body.running, false);
      } finally {
        await gateway.stop();
      }
    }
  } finally {
    endpoint.closeAllConnections();
    await new Promise((resolve) => endpoint.close(resolve));
  }
});

test.run();
