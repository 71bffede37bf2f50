/** The description of all routes. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

const pet = `
import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "pet",
  setup(ctx) {
    const body = Type.Object({ name: Type.String() });
    ctx.route("POST", "/pets/:id/*", { access: "client", summary: "A pet", body }, () => ({}));
  },
});
`;

test("every route of every server is described, a user's plugin's too", async () => {
  const gateway = await startGateway({
    config: { webhooks: { token: "a-token-of-webhooks" } },
    files: { "plugins/pet/plugin.ts": pet },
  });
  try {
    assert.is((await gateway.request("GET", "/openapi.json", undefined, { token: null })).status, 401);
    const document = await gateway.json("GET", "/openapi.json");
    assert.match(document.openapi, /^3\.1/);
    const { servers } = await gateway.json("GET", "/kernel/status");
    for (const { routes, server } of gateway.gateway.use("gateway").routes()) {
      for (const { method, path } of routes) {
        // one that takes every method has none to be described by
        if (method === "") continue;
        const written = path.replace(/:(\w+)\??/g, "{$1}").replace(/\*/g, "{rest}");
        assert.ok(document.paths[written]?.[method.toLowerCase()], `${server} ${method} ${path}`);
      }
    }
    for (const item of Object.values(document.paths as object))
      assert.ok(
        Object.keys(item).every((method) => /^(get|post|put|patch|delete)$/.test(method)),
        JSON.stringify(item),
      );
    assert.ok(document.paths["/hooks/turns/{id}"].get);
    const chat = document.paths["/v1/chat/completions"].post;
    assert.equal(chat.security, [{ bearer: [] }, { apiKey: [] }]);
    assert.equal(document.paths["/snapshot"].get.servers, [{ url: servers.browser }]);
    assert.equal(document.paths["/health"].get.security, []);
    const own = document.paths["/pets/{id}/{rest}"].post;
    assert.equal(
      own.parameters.map(({ name }: { name: string }) => name),
      ["id", "rest"],
    );
    assert.equal(own.requestBody.content["application/json"].schema.required, ["name"]);
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    assert.is(new Set(ids).size, ids.length, "each operation has an id of its own");
  } finally {
    await gateway.stop();
  }
});

test.run();
