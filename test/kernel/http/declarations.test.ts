/** Routes that declare what they take: the kernel checks requests by that. */
import { Type } from "@sinclair/typebox";
import type { RouteOptions } from "portico";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { stopRoutes, startRoutes } from "../../support/routes.ts";

test.after(stopRoutes);

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

test("a query that violates its declaration does not reach the handler", async () => {
  for (const declared of [query, async () => query]) {
    const gateway = await startRoutes();
    let calls = 0;
    gateway.route("GET", "/list", { ...open, query: declared }, () => ({ calls: ++calls }));
    for (const [text, param] of [
      ["limit=11", "limit"],
      ["limit=x", "limit"],
      ["limit=", "limit"],
      ["all=perhaps", "all"],
    ])
      assert.equal(
        await errorOf(await fetch(`${gateway.url}/list?${text}`)),
        [400, "invalid_request_error", param],
        text,
      );
    assert.is(calls, 0);
    for (const text of ["", "limit=3", "all=true", "all=0", "name=a&name=b", "other=1"])
      assert.is((await fetch(`${gateway.url}/list?${text}`)).status, 200, text);
  }
});

test("a body is checked by its declaration, and a null counts as left out", async () => {
  const gateway = await startRoutes();
  const body = Type.Object({ name: Type.String(), size: Type.Integer({ default: 7 }) });
  gateway.route("POST", "/pets", { ...open, body }, (call) => call.json());
  const send = (text: string) =>
    fetch(`${gateway.url}/pets`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: text,
    });
  assert.equal(await (await send('{"name":"a"}')).json(), { name: "a", size: 7 });
  assert.equal(await (await send('{"name":"a","size":null}')).json(), { name: "a", size: 7 });
  assert.equal(await errorOf(await send('{"name":1}')), [400, "invalid_request_error", "name"]);
  assert.equal(await errorOf(await send("")), [400, "invalid_json", undefined]);
});

test("members that a body's declaration does not name are refused at every depth", async () => {
  const gateway = await startRoutes();
  const target = Type.Object({ url: Type.String(), secret: Type.Optional(Type.String()) });
  const body = Type.Object({
    message: Type.String(),
    delivery: Type.Optional(Type.Union([Type.Literal("none"), target])),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    extra: Type.Optional(Type.Object({ a: Type.String() }, { additionalProperties: true })),
  });
  const routes: [path: string, options: Partial<RouteOptions>][] = [
    ["/now", { body }],
    ["/later", { body: async () => body }],
  ];
  for (const [path, options] of routes) {
    gateway.route("POST", path, { ...open, ...options }, (call) => call.json());
    const send = (more: object) =>
      fetch(`${gateway.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ message: "Hi", ...more }),
      });
    assert.is((await send({ context: { any: 1 }, extra: { a: "", b: 1 } })).status, 200);
    for (const [more, param, hint] of [
      [{ mesage: "Hi" }, "mesage", "did you mean message?"],
      [{ zzz: 1 }, "zzz", "the known keys are message, delivery, context, extra"],
      [{ delivery: { url: "u", secrt: "s" } }, "delivery.secrt", "did you mean delivery.secret?"],
    ] as const) {
      const refused = await send(more);
      const { error } = (await refused.clone().json()) as { error: { message: string } };
      assert.equal(await errorOf(refused), [400, "invalid_request_error", param]);
      assert.match(error.message, `${param} is not a known key; ${hint}`);
    }
  }
});

test("a body that may be left out is an empty object, and is checked as one", async () => {
  const gateway = await startRoutes();
  const body = Type.Object({ size: Type.Integer({ default: 7 }) });
  gateway.route("POST", "/open", { ...open, body, optionalBody: true }, (call) => call.json());
  assert.equal(await (await fetch(`${gateway.url}/open`, { method: "POST" })).json(), { size: 7 });
});

test("parameters of the path are checked, and a handler that checks by itself gets all", async () => {
  const gateway = await startRoutes();
  const params = Type.Object({ kind: Type.Union([Type.Literal("a"), Type.Literal("b")]) });
  gateway.route("GET", "/of/:kind", { ...open, params }, ({ params: { kind } }) => ({ kind }));
  assert.is((await fetch(`${gateway.url}/of/a`)).status, 200);
  assert.equal(await errorOf(await fetch(`${gateway.url}/of/c`)), [
    400,
    "invalid_request_error",
    "kind",
  ]);
  gateway.route("GET", "/own/:kind", { ...open, params, query, checkedBy: "handler" }, () => ({}));
  assert.is((await fetch(`${gateway.url}/own/c?limit=x`)).status, 200);
});

/** A route that responds with its input, and a function that sends it a request. */
async function startEcho() {
  const gateway = await startRoutes();
  const options = {
    ...open,
    query: Type.Object({
      profile: Type.Optional(Type.String({ minLength: 1 })),
      full: Type.Optional(Type.Boolean()),
      size: Type.Optional(Type.Integer()),
      tags: Type.Optional(Type.Array(Type.Integer())),
    }),
    body: Type.Object({
      profile: Type.Optional(Type.String({ minLength: 1 })),
      note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      ref: Type.Optional(Type.String()),
      kind: Type.String({ default: "plain" }),
    }),
    optionalBody: true,
  };
  gateway.route("POST", "/echo", options, (call) => call.input());
  gateway.route("POST", "/echo/:profile", options, (call) => call.input());
  return async (path: string, body?: unknown) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    });
    return response.ok ? response.json() : errorOf(response);
  };
}

test("in one input, the path overrides the body, the body overrides the query, and null overrides nothing", async () => {
  const send = await startEcho();
  for (const [path, body, input] of [
    ["/echo", undefined, { kind: "plain" }],
    ["/echo?profile=work", undefined, { profile: "work", kind: "plain" }],
    ["/echo?profile=work", { profile: null }, { profile: "work", kind: "plain" }],
    ["/echo?profile=work", { profile: "home" }, { profile: "home", kind: "plain" }],
    ["/echo", { profile: null, kind: null, other: null }, { kind: "plain" }],
    ["/echo/path?profile=work", { profile: "home" }, { profile: "path", kind: "plain" }],
    ["/echo/path", { profile: null }, { profile: "path", kind: "plain" }],
    ["/echo", { note: null, kind: "k" }, { note: null, kind: "k" }],
    ["/echo?other=1", { size: 2 }, { size: 2, kind: "plain" }],
    ["/echo?profile=a&profile=b", undefined, { profile: "a", kind: "plain" }],
    ["/echo?full=true&size=12", undefined, { full: true, size: 12, kind: "plain" }],
    ["/echo?full=", undefined, { full: true, kind: "plain" }],
    ["/echo?tags=1&tags=2", undefined, { tags: [1, 2], kind: "plain" }],
    ["/echo?tags=1", { tags: null }, { tags: [1], kind: "plain" }],
    ["/echo?tags=1&tags=2", { tags: [3] }, { tags: [3], kind: "plain" }],
  ] as const)
    assert.equal(await send(path, body), input, `${path} ${JSON.stringify(body)}`);
});

test("in one input, a violation of the declaration receives 400, and no member comes from the prototype", async () => {
  const send = await startEcho();
  for (const [path, body, param] of [
    ["/echo?profile=", undefined, "profile"],
    ["/echo?profile=work", { profile: "" }, "profile"],
    ["/echo", { profile: ["work"] }, "profile"],
    ["/echo?size=x", undefined, "size"],
    ["/echo?size=", undefined, "size"],
    ["/echo?tags=x", undefined, "tags[0]"],
    ["/echo", { ref: null }, "ref"],
    ["/echo", { endRef: null }, "endRef"],
    ["/echo", { more: 2 }, "more"],
    ["/echo", "[]", undefined],
    ["/echo", "null", undefined],
  ] as const)
    assert.equal(
      await send(path, body),
      [400, "invalid_request_error", param],
      `${path} ${JSON.stringify(body)}`,
    );
  const sent = await send("/echo?profile=work", '{"__proto__":{"profile":"home"}}');
  assert.is((sent as { profile: string }).profile, "work");
});

test.run();
