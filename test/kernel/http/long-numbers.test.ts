/** Whole numbers beyond 2^53 in JSON bodies and in queries: they keep their digits, or they are refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "portico";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { type RouteGateway, startRoutes, stopRoutes } from "../../support/routes.ts";
import { suite } from "../../support/suite.ts";

const test = suite("long numbers");
const DIGITS = "9007199254740993";
const open = { access: "public" } as const;
let routes: RouteGateway;
let gateway: InProcessGateway;

const REPEAT = `import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "repeat",
  setup(ctx) {
    ctx.tool({
      name: "repeat",
      description: "Repeats a value",
      parameters: Type.Object({ value: Type.Unknown(), count: Type.Optional(Type.Integer()) }),
      handler: async ({ value }) => value,
    });
  },
});
`;

test.before(async () => {
  routes = await startRoutes();
  gateway = await startGateway({
    files: { "plugins/repeat/plugin.ts": REPEAT },
    config: { mcp: { enabled: true } },
  });
});
test.after(async () => {
  await stopRoutes();
  await gateway?.stop();
});

const headers = { "content-type": "application/json" };

async function send(path: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${routes.url}${path}`, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

async function refusalOf(path: string, body: string): Promise<unknown[]> {
  const { status, text } = await send(path, body);
  const { code, param, message } = JSON.parse(text).error ?? {};
  assert.match(message, DIGITS, "the message names the number");
  return [status, code, param];
}

test("long numbers are returned unchanged, whatever the route declares", async () => {
  const anything = Type.Object({ value: Type.Unknown() });
  const optional = Type.Object({ value: Type.Optional(Type.Unknown()), other: Type.Integer() });
  routes.route("POST", "/free", open, (call) => call.json());
  routes.route("POST", "/unknown", { ...open, body: anything }, (call) => call.json());
  routes.route("POST", "/loaded", { ...open, body: async () => anything }, (call) => call.json());
  routes.route("POST", "/merged", { ...open, body: anything }, (call) => call.input());
  routes.route("POST", "/null", { ...open, body: optional }, (call) => call.json());
  routes.route("POST", "/own", { ...open, checkedBy: "handler" }, (call) => call.json());
  for (const value of [DIGITS, `-${DIGITS}`, `[1,{"id":${DIGITS}}]`, `{"${DIGITS}":${DIGITS}}`])
    for (const path of ["/free", "/unknown", "/loaded", "/merged", "/own"]) {
      const body = `{"value":${value}}`;
      assert.equal(await send(path, body), { status: 200, text: body }, path);
    }
  assert.is((await send("/free", DIGITS)).text, DIGITS, "a body that is the number itself");
  const withNull = `{"value":${DIGITS},"other":null}`;
  assert.is((await send("/null", withNull)).status, 400);
  assert.is((await send("/free", `{"value":${DIGITS},"__proto__":1}`)).text, `{"value":${DIGITS}}`);
});

test("declared types refuse long numbers and name their digits", async () => {
  const list = Type.Array(Type.Integer());
  const union = Type.Union([Type.String(), Type.Object({ id: Type.Optional(Type.String()) })]);
  const variants = {
    integer: Type.Integer(),
    bounded: Type.Integer({ minimum: 1, maximum: 10 }),
    number: Type.Number(),
    literal: Type.Literal(5),
    boolean: Type.Boolean(),
    text: Type.String(),
    object: Type.Object({}),
    record: Type.Record(Type.String(), Type.Unknown()),
    closed: Type.Object({ id: Type.Optional(Type.String()) }, { additionalProperties: false }),
    union,
  };
  for (const [name, schema] of Object.entries(variants)) {
    const body = Type.Object({ value: Type.Optional(schema) });
    routes.route("POST", `/${name}`, { ...open, body }, (call) => call.json());
    routes.route("POST", `/${name}/merged`, { ...open, body }, (call) => call.input());
    for (const path of [`/${name}`, `/${name}/merged`])
      assert.equal(
        await refusalOf(path, `{"value":${DIGITS}}`),
        [400, "invalid_request_error", "value"],
        path,
      );
  }
  routes.route("POST", "/list", { ...open, body: Type.Object({ ids: list }) }, (call) =>
    call.json(),
  );
  assert.equal(await refusalOf("/list", `{"ids":[1,${DIGITS}]}`), [
    400,
    "invalid_request_error",
    "ids[1]",
  ]);
  assert.is((await send("/list", `{"ids":[${Number.MAX_SAFE_INTEGER}]}`)).status, 200);
});

test("a number of a great many digits is neither computed nor repeated", async () => {
  routes.route("POST", "/huge", { ...open, body: Type.Object({ n: Type.Integer() }) }, (call) =>
    call.json(),
  );
  const { status, text } = await send("/huge", `{"n":${"7".repeat(1_000_000)}}`);
  assert.is(status, 400);
  assert.ok(text.length < 500, text.slice(0, 500));
});

test("a query refuses long numbers too", async () => {
  const query = Type.Object({
    limit: Type.Optional(Type.Integer()),
    size: Type.Optional(Type.Number()),
  });
  routes.route("GET", "/query", { ...open, query }, (call) => call.input());
  for (const name of ["limit", "size"]) {
    const response = await fetch(`${routes.url}/query?${name}=${DIGITS}`);
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.equal([response.status, error.param], [400, name]);
    assert.match(error.message, DIGITS);
  }
  const { status } = await fetch(`${routes.url}/query?limit=${Number.MAX_SAFE_INTEGER}&size=1.5`);
  assert.is(status, 200);
});

interface Answer {
  status: number;
  text: string;
}

async function ask(method: string, path: string, body: string, more: object = {}): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { ...headers, authorization: `Bearer ${gateway.token}`, ...more },
    body,
  });
  return { status: response.status, text: await response.text() };
}

test("routes of plugins refuse long numbers where they accept a number", async () => {
  for (const [method, path, body, param] of [
    ["POST", "/keys", `{"name":"a","requestsPerMinute":${DIGITS}}`, "requestsPerMinute"],
    ["POST", "/keys", `{"name":"b","models":[${DIGITS}]}`, "models[0]"],
    ["POST", "/agent", `{"message":"m","context":${DIGITS}}`, "context"],
    ["POST", "/agent", `{"message":${DIGITS}}`, "message"],
    [
      "POST",
      "/cron/jobs",
      `{"name":"j","schedule":{"kind":"every","everyMs":${DIGITS}},"payload":{"kind":"event","text":"t"}}`,
      "schedule",
    ],
    ["POST", "/polls", `{"name":"p","source":${DIGITS}}`, "source"],
    [
      "POST",
      "/kernel/hooks/none/run",
      `{"event":"message:received","context":${DIGITS}}`,
      "context",
    ],
  ] as const) {
    const { status, text } = await ask(method, path, body);
    assert.is(status, 400, `${path}: ${text}`);
    assert.ok(String(JSON.parse(text).error.param).startsWith(param), text);
    assert.match(text, DIGITS);
  }
});

test("the configuration keeps a long number as a string of its digits", async () => {
  const configResponse = await fetch(`${gateway.url}/kernel/config`, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  const version = { "if-match": configResponse.headers.get("etag") ?? "" };
  const refused = await ask(
    "POST",
    "/kernel/config",
    `{"key":"browser.maxTabs","value":${DIGITS}}`,
    version,
  );
  assert.is(refused.status, 400, refused.text);
  const body = `{"path":["models","m"],"value":{"targets":["echo/echo"],"params":{"default":{"seed":${DIGITS}}}}}`;
  const written = await ask("PATCH", "/kernel/config", `{"edits":[${body}]}`, version);
  assert.is(written.status, 200, written.text);
  const { changes } = JSON.parse(written.text);
  assert.equal(changes[0].after.params, { default: { seed: DIGITS } });
  const file = readFileSync(join(gateway.home, "portico.json"), "utf8");
  assert.match(file, new RegExp(`seed"?: *"${DIGITS}"`));
});

test("the audit trail records long numbers as strings", async () => {
  const payload = `{"kind":"hook","event":"report:daily","context":{"id":${DIGITS},"all":[${DIGITS}]}}`;
  const job = `{"name":"audited","schedule":"every 1d","payload":${payload}}`;
  assert.is((await ask("POST", "/cron/jobs", job)).status, 200);
  const { entries } = await gateway.json("GET", "/audit?limit=5");
  const entry = entries.find(({ action }: { action: string }) => action === "POST /cron/jobs");
  assert.is(entry.request.payload.context.id, DIGITS);
  assert.not.match(JSON.stringify(entry), /digits/);
});

test("a tool called over MCP receives long numbers where it accepts any value", async () => {
  const call = async (id: string, args: string) => {
    const params = `{"name":"repeat","arguments":${args}}`;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
    const accept = "application/json, text/event-stream";
    return (await ask("POST", "/mcp", body, { accept })).text;
  };
  assert.match(await call("1", `{"value":{"id":${DIGITS}}}`), DIGITS);
  const refused = await call("2", `{"value":1,"count":${DIGITS}}`);
  assert.match(refused, "isError");
  assert.match(refused, DIGITS);
  assert.match(await call(DIGITS, `{"value":1}`), "Invalid Request");
});

test.run();
