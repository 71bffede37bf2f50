/** No route has to remember the trail: an attempt at each route of the owner that changes something is in it. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";

const test = suite("audit of every route");

/** What changes nothing that lasts, on the gateway's own server. A new route belongs here only for such a reason. */
const QUESTIONS = [
  "POST /agent",
  "POST /channels/:name/test",
  "POST /dashboard/browser/start",
  "POST /dashboard/browser/stop",
  "POST /heartbeat",
  "POST /kernel/config/refresh",
  "POST /kernel/hooks/:name/check",
  "POST /kernel/plugins/:name/check",
  "POST /mcp",
  "POST /polls/:id/test",
  "POST /polls/jobs/:id/test",
  "POST /polls/jobs/test",
  "POST /polls/test",
  "POST /store/check",
  "POST /webhooks/test",
];

test("a refused attempt at each route is recorded, except for read-only routes", async () => {
  const gateway = await startGateway({
    config: { gateway: { trustedProxies: ["127.0.0.1"] } },
  });
  try {
    const [own] = gateway.gateway.use("gateway").routes();
    const routes = own!.routes.filter(
      ({ method, access }) => method !== "GET" && access === "gateway",
    );
    const questions = routes.filter(({ changes }) => changes === false).map(nameOf);
    assert.equal(
      questions.filter((name) => !QUESTIONS.includes(name)),
      [],
    );
    const changing = routes.filter(({ changes }) => changes !== false);
    assert.ok(changing.length > 30, `${changing.length} routes`);
    for (const [i, { method, path }] of changing.entries()) {
      const address = `10.0.${Math.floor(i / 200)}.${i % 200}`;
      const headers = { "x-forwarded-for": address };
      const target = path.replaceAll(/:\w+/g, "x");
      const response = await gateway.request(method, target, {}, { token: "wrong", headers });
      assert.is(response.status, 401, `${method} ${path}`);
    }
    // A refusal does not wait for the trail.
    await untilRight(
      async () => {
        const { entries } = await gateway.json("GET", "/audit?principal=outside&limit=1000");
        const kept = new Set(entries.map(({ action }: { action: string }) => action));
        return changing.map(nameOf).filter((name) => !kept.has(name));
      },
      (missing) => missing.length === 0,
    );
  } finally {
    await gateway.stop();
  }
});

function nameOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path}`;
}

test.run();
