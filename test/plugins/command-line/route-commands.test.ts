/** Commands that are derived from routes: each calls a mounted route and has options for its members. */
import * as assert from "uvu/assert";
import type { Command } from "../../../plugins/command-line/index.ts";
import { commandFor } from "../../../plugins/command-line/route-command.ts";
import { openHome } from "../../../kernel/program/home.ts";
import { loaderFor } from "../../../kernel/package-loader.ts";
import { Type } from "portico";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { makeHome } from "../../support/gateway.ts";

const test = suite("commands of routes");
let gateway: InProcessGateway;

test.before(async () => {
  gateway = await startGateway({ config: { webhooks: { token: "a-token-of-webhooks" } } });
});
test.after(() => gateway?.stop());

async function allCommands(): Promise<Command[]> {
  const definitions = await openHome({ home: makeHome() }, {}, loaderFor).definitions();
  const loads = definitions.flatMap(({ commands }) => Object.values(commands ?? {}));
  const top = await Promise.all(loads.map(async (load) => (await load()).default));
  const withInner = (command: Command): Command[] => [
    command,
    ...(command.commands ?? []).flatMap(withInner),
  ];
  return top.flatMap(withInner);
}

test("each command calls a route of the gateway, and each option has a description", async () => {
  const mounted = new Set(
    gateway.gateway
      .use("gateway")
      .routes()
      .flatMap(({ server, routes }) =>
        routes.map(({ method, path }) => `${server} ${method} ${path}`),
      ),
  );
  const commands = (await allCommands()).filter(({ route }) => route !== undefined);
  const servers = new Set(commands.map(({ server = "gateway" }) => server));
  assert.equal([...servers].sort(), ["browser", "gateway"]);
  assert.equal(
    commands
      .filter(({ server = "gateway", route }) => !mounted.has(`${server} ${route}`))
      .map(({ name, route }) => [name, route]),
    [],
  );
  const silent = commands.flatMap(({ name, route, options = {} }) =>
    Object.entries(options)
      .filter(([, { description }]) => description === "")
      .map(([option]) => `${name} (${route}): --${option}`),
  );
  assert.equal(silent, []);
});

test("options have the types of the members that they set", () => {
  const { options, summary } = commandFor(
    "POST /pets/:name",
    {
      summary: "Feeds a pet",
      query: Type.Object({
        dryRun: Type.Optional(Type.Union([Type.Literal("true"), Type.Literal("false")])),
        limit: Type.Optional(Type.Integer({ description: "How many" })),
      }),
      body: Type.Object({
        food: Type.Union([Type.Literal("hay"), Type.Literal("corn")], { description: "What" }),
        gramsPerMeal: Type.Number({ description: "How much" }),
        notes: Type.Array(Type.String()),
        hidden: Type.String(),
      }),
    },
    {
      name: "feed",
      options: { food: {}, grams: { member: "gramsPerMeal" }, notes: { description: "Notes" } },
      view: () => "",
    },
  );
  assert.is(summary, "Feeds a pet");
  assert.equal(options, {
    food: { type: "string", choices: ["hay", "corn"], description: "What" },
    grams: { type: "number", value: "N", description: "How much" },
    notes: { type: "list", description: "Notes" },
    dryRun: { type: "boolean", description: "" },
    limit: { type: "number", value: "N", description: "How many" },
  });
});

test("a command fails if the route refuses it or an option does not accept a value", async () => {
  const place = ["--url", gateway.url, "--token", gateway.token];
  const home = makeHome();
  const ran = (...words: string[]) => porticoHere(home, [...words, ...place]);
  for (const [words, code, says] of [
    [["deliveries", "--state", "gone"], 2, /--state takes queued, running/],
    [["deliveries", "--limit", "x"], 2, /--limit takes a number/],
    [["browser", "start", "--headless=perhaps"], 2, /--headless takes no value/],
    [["deliveries", "list", "--limit", "0"], 1, /limit/],
    [["deliveries", "show", "a/../b"], 1, /a\/\.\.\/b/],
    [["keys", "create"], 2, /needs NAME/],
    [["keys", "create", "ci", "--budget", "much"], 1, /--budget takes an amount/],
    [["keys", "revoke", "nobody"], 1, /nobody/],
  ] as const) {
    const { code: actual, stderr } = await ran(...words);
    assert.is(actual, code, `${words.join(" ")}: ${stderr}`);
    assert.match(stderr, says);
  }
  const asText = await ran("deliveries", "--json=false");
  assert.is(asText.code, 0, asText.stderr);
  assert.throws(() => JSON.parse(asText.stdout), "a table");
  assert.ok(Array.isArray(JSON.parse((await ran("deliveries", "--json=true")).stdout).deliveries));
  const result = await ran(
    "keys",
    "create",
    "ci",
    "--rpm",
    "6",
    "--models",
    "a,b",
    "--allow",
    "10.0.0.0/8",
    "--json",
  );
  assert.is(result.code, 0, result.stderr);
  const { requestsPerMinute, models, allowedIps } = JSON.parse(result.stdout);
  assert.equal([requestsPerMinute, models, allowedIps], [6, ["a", "b"], ["10.0.0.0/8"]]);
  const rotated = await ran("keys", "rotate", "ci", "--overlap", "0", "--json");
  assert.is(JSON.parse(rotated.stdout).previousUntil, undefined);
  assert.match((await ran("keys", "list")).stdout, /^ci +active +a, b +6$/m);
  assert.is((await ran("keys", "revoke", "ci")).stdout, "The key ci is revoked.\n");
});

test("a member that a command builds from several options replaces them in the request", async () => {
  const requests: unknown[] = [];
  const command = commandFor<object>(
    "POST /pets/:name/feed",
    { query: Type.Object({ times: Type.Number() }), body: Type.Object({}) },
    {
      name: "feed",
      args: [{ name: "pet" }],
      options: {
        food: { type: "string", description: "What" },
        times: { fallback: 2, read: (times: number) => times * 10 },
      },
      view: () => [],
    },
  );
  const io = (options: object) => ({
    args: { pet: "a/b" },
    options,
    gateway: { request: async (...request: unknown[]) => void requests.push(request) },
    show() {},
  });
  await command.run!(io({ food: "hay", times: 3 }) as never);
  await command.run!(io({}) as never);
  const made = commandFor<object>(
    "POST /pets",
    { body: Type.Object({}) },
    {
      name: "make",
      args: [{ name: "name" }],
      options: { kind: { type: "string", description: "Which" } },
      members: ({ args, options }) => ({ pet: `${args["name"]}, a ${options["kind"]}` }),
      view: () => [],
    },
  );
  await made.run!({ ...io({ kind: "cow" }), args: { name: "Eve" } } as never);
  assert.equal(requests, [
    ["POST", "/pets/a%2Fb/feed", { food: "hay" }, { query: { times: 30 } }],
    ["POST", "/pets/a%2Fb/feed", {}, { query: { times: 2 } }],
    ["POST", "/pets", { pet: "Eve, a cow" }, { query: {} }],
  ]);
});

test("constants, arguments and options set members of the path, the query and the body", async () => {
  const requests: unknown[] = [];
  const run = (command: Command, args: object, options: object = {}) =>
    command.run!({
      args,
      options,
      gateway: { request: async (...request: unknown[]) => void requests.push(request) },
      show() {},
    } as never);
  const Size = Type.Union([Type.Literal("small"), Type.Literal("large")], { description: "Size" });
  const draw = commandFor<object>(
    "POST /drawings/:kind/:id",
    { server: "studio", body: Type.Object({ size: Size }) },
    {
      name: "draw",
      constants: { kind: "circle", tool: "pen" },
      args: [
        { name: "id" },
        { name: "width", member: "widthPx", read: (width: string) => Number(width) },
        { name: "colour", optional: true, fallback: "black" },
        { name: "layers", rest: true },
      ],
      options: {
        size: {},
        large: {
          type: "boolean",
          description: "The same as --size large",
          member: "size",
          read: (isSet: boolean) => (isSet ? "large" : undefined),
        },
      },
      view: () => [],
    },
  );
  assert.equal(draw.server, "studio");
  assert.equal(draw.options, {
    size: { type: "string", choices: ["small", "large"], description: "Size" },
    large: { type: "boolean", description: "The same as --size large" },
  });
  const list = commandFor<object>(
    "GET /drawings/:kind",
    { query: Type.Object({ kind: Type.String(), owner: Type.String(), page: Type.Integer() }) },
    {
      name: "list",
      constants: { kind: "circle" },
      args: [{ name: "of", member: "owner" }],
      view: () => [],
    },
  );
  assert.equal(Object.keys(list.options!), ["page"]);
  await run(draw, { id: "a/b", width: "3", rest: ["top", "left"] }, { large: true });
  await run(draw, { id: "c", width: "4", colour: "red" }, { size: "small", large: false });
  await run(list, { of: "Ada" }, { page: 2 });
  assert.equal(requests, [
    [
      "POST",
      "/drawings/circle/a%2Fb",
      { tool: "pen", widthPx: 3, colour: "black", layers: ["top", "left"], size: "large" },
      { query: {}, server: "studio" },
    ],
    [
      "POST",
      "/drawings/circle/c",
      { tool: "pen", widthPx: 4, colour: "red", size: "small" },
      { query: {}, server: "studio" },
    ],
    ["GET", "/drawings/circle", undefined, { query: { owner: "Ada", page: 2 } }],
  ]);
});

test.run();
