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
    assert.is(
      (await gateway.request("GET", "/openapi.json", undefined, { token: null })).status,
      401,
    );
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
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap(
      (item) => Object.values(item).map(({ operationId }) => operationId),
    );
    assert.is(new Set(ids).size, ids.length, "each operation has an id of its own");
  } finally {
    await gateway.stop();
  }
});

test("what the browser's routes take is described by the declarations that requests are checked by", async () => {
  const gateway = await startGateway();
  try {
    const { paths } = await gateway.json("GET", "/openapi.json");
    const fields = (path: string, method: string, place: string) =>
      Object.fromEntries(
        paths[path][method].parameters
          .filter((parameter: any) => parameter.in === place)
          .map((parameter: any) => [parameter.name, parameter]),
      );
    const fieldsOfSnapshot = fields("/snapshot", "get", "query");
    for (const name of [
      "format",
      "mode",
      "interactive",
      "compact",
      "depth",
      "selector",
      "frame",
      "labels",
      "limit",
    ])
      assert.is(fieldsOfSnapshot[name]?.required, false, name);
    assert.equal(fieldsOfSnapshot.depth.schema.type, "integer");
    assert.equal(
      fieldsOfSnapshot.format.schema.anyOf.map(({ const: constant }: any) => constant),
      ["ai", "aria"],
    );
    assert.ok(fields("/console", "get", "query").level);
    // The gateway has such a path too, and its own keeps the place.
    assert.ok(fields("/requests", "get", "query").outcome);
    // every route takes the profile there; a parameter of the path is none of the query
    const { servers } = await gateway.json("GET", "/kernel/status");
    for (const [path, item] of Object.entries<any>(paths))
      for (const [method, operation] of Object.entries<any>(item))
        if (operation.servers?.[0].url === servers.browser && !path.startsWith("/extension"))
          assert.ok(fields(path, method, "query").profile, `${method} ${path}`);
    assert.equal(Object.keys(fields("/storage/{kind}", "get", "query")).includes("kind"), false);
    assert.ok(fields("/storage/{kind}", "get", "path").kind.schema.anyOf);
    const bodyOf = (path: string) =>
      paths[path].post.requestBody.content["application/json"].schema;
    assert.equal(bodyOf("/storage/{kind}/set").required, ["key", "value"]);
    const kinds = Object.fromEntries(
      bodyOf("/act").anyOf.map(({ properties, required }: any) => [
        properties.kind.const,
        required,
      ]),
    );
    // a click may name a place instead of an element
    assert.equal(kinds.click, ["kind"]);
    assert.equal(kinds.hover, ["kind", "ref"]);
    assert.equal(kinds.resize, ["kind", "width", "height"]);
  } finally {
    await gateway.stop();
  }
});

test.run();
