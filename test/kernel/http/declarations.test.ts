/** Routes that declare what they take: the kernel checks requests by that. */
import { Type } from "@sinclair/typebox";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { closeAll, startServer } from "./harness.ts";

test.after(closeAll);

const open = { access: "public" } as const;

const query = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  all: Type.Optional(Type.Boolean()),
  name: Type.Optional(Type.Array(Type.String())),
});

async function errorOf(response: Response): Promise<unknown[]> {
  const { error } = (await response.json()) as { error: { code: string; param?: string } };
  return [response.status, error.code, error.param];
}

test("a query that breaks its declaration does not reach the handler", async () => {
  for (const declared of [query, async () => query]) {
    const { server, url } = await startServer();
    let calls = 0;
    server.route("GET", "/list", { ...open, query: declared }, () => ({ calls: ++calls }));
    for (const [text, param] of [
      ["limit=11", "limit"],
      ["limit=x", "limit"],
      ["limit=", "limit"],
      ["all=perhaps", "all"],
    ])
      assert.equal(
        await errorOf(await fetch(`${url}/list?${text}`)),
        [400, "invalid_request_error", param],
        text,
      );
    assert.is(calls, 0);
    for (const text of ["", "limit=3", "all=true", "all=0", "name=a&name=b", "other=1"])
      assert.is((await fetch(`${url}/list?${text}`)).status, 200, text);
  }
});

test("a body is checked by its declaration, and a null counts as left out", async () => {
  const { server, url } = await startServer();
  const body = Type.Object({ name: Type.String(), size: Type.Integer({ default: 7 }) });
  server.route("POST", "/pets", { ...open, body }, (call) => call.json());
  const send = (text: string) =>
    fetch(`${url}/pets`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: text,
    });
  assert.equal(await (await send('{"name":"a"}')).json(), { name: "a", size: 7 });
  assert.equal(await (await send('{"name":"a","size":null}')).json(), { name: "a", size: 7 });
  assert.equal(await errorOf(await send('{"name":1}')), [400, "invalid_request_error", "name"]);
  assert.equal(await errorOf(await send("")), [400, "invalid_json", undefined]);
});

test("a body that may be left out is an empty object, and is checked as one", async () => {
  const { server, url } = await startServer();
  const body = Type.Object({ size: Type.Integer({ default: 7 }) });
  server.route("POST", "/open", { ...open, body, optionalBody: true }, (call) => call.json());
  assert.equal(await (await fetch(`${url}/open`, { method: "POST" })).json(), { size: 7 });
});

test("parameters of the path are checked, and a handler that checks by itself gets all", async () => {
  const { server, url } = await startServer();
  const params = Type.Object({ kind: Type.Union([Type.Literal("a"), Type.Literal("b")]) });
  server.route("GET", "/of/:kind", { ...open, params }, ({ params: { kind } }) => ({ kind }));
  assert.is((await fetch(`${url}/of/a`)).status, 200);
  assert.equal(await errorOf(await fetch(`${url}/of/c`)), [400, "invalid_request_error", "kind"]);
  server.route("GET", "/own/:kind", { ...open, params, query, checkedBy: "handler" }, () => ({}));
  assert.is((await fetch(`${url}/own/c?limit=x`)).status, 200);
});

test.run();
