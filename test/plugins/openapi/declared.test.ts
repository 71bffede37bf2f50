/** Every route of every server says what it takes and answers. */
import type { RouteInfo } from "../../../kernel/contract/index.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

let gateway: InProcessGateway;
test.before(async () => {
  gateway = await startGateway({ config: { webhooks: { token: "a-token-of-webhooks" } } });
});
test.after(() => gateway?.stop());

/** Returns the missing members of a declaration. */
function gapsOf({ method, summary, body, response }: RouteInfo): string[] {
  const takesBody = method === "POST" || method === "PUT" || method === "PATCH";
  const gaps: string[] = [];
  if (!summary) gaps.push("summary");
  if (takesBody && body === undefined) gaps.push("body (null where it takes none)");
  if (response === undefined) gaps.push("response");
  return gaps;
}

test("no route is without summary, body and response", () => {
  const gaps: string[] = [];
  for (const { server, routes } of gateway.gateway.use("gateway").routes())
    for (const route of routes) {
      // the webhooks' own, for any method: those that they take are routes of their own
      if (route.method === "") continue;
      const missing = gapsOf(route);
      if (missing.length > 0)
        gaps.push(`${server} ${route.method} ${route.path}: ${missing.join(", ")}`);
    }
  assert.equal(gaps, []);
});

test("a path of two servers is described for both", async () => {
  const { paths } = await gateway.json("GET", "/openapi.json");
  const [other] = paths["/requests"].get["x-other-servers"];
  const browser = await gateway.serverUrl("browser");
  assert.equal(other.servers, [{ url: browser }]);
  const own = await gateway.json("GET", "/openapi.json?server=browser");
  assert.equal(own.servers, [{ url: browser }]);
  assert.ok(own.paths["/requests"].get);
  assert.not(own.paths["/agent"]);
  const unknown = await gateway.request("GET", "/openapi.json?server=nowhere");
  assert.is(unknown.status, 404);
});

test("errors are described in the format that the route sends", async () => {
  const { paths } = await gateway.json("GET", "/openapi.json");
  const errorOf = (path: string, method: string) =>
    paths[path][method].responses["401"].content["application/json"].schema.properties;
  assert.ok(errorOf("/v1/chat/completions", "post").error.properties.type);
  assert.is(errorOf("/v1/messages", "post").type.const, "error");
  assert.is(errorOf("/hooks/agent", "post").status.type, "integer");
  assert.not(errorOf("/keys", "get").status);
});

test.run();
