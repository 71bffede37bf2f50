/** A version of a plugin that is wrong in itself changes nothing, and says where it is wrong. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, spawnGateway, startGateway } from "../../../../support/gateway.ts";
import { endlessLoop } from "../../../../support/hook-files.ts";
import { suite } from "../../../../support/suite.ts";
import { untilRight } from "../../../../support/until.ts";

const test = suite<{ gateway: InProcessGateway }>("hostile plugins");
test.before(async (context) => {
  context.gateway = await startGateway({ files: { [file]: plugin(good("works")) } });
});
test.after((context) => context.gateway.stop());

const file = "plugins/p/plugin.ts";
const plugin = (body: string) => `import { definePlugin, Type } from "portico";

export default definePlugin({
  name: "p",
  setup(ctx) {
    ${body}
  },
});
`;
const good = (text: string) =>
  `ctx.add("provider", { name: "p", builtinChannel: "p", complete: async () => "${text}" });`;

const ask = async (gateway: InProcessGateway): Promise<string> => {
  const body = { model: "p/any", messages: [{ role: "user", content: "hi" }] };
  return (await gateway.json("POST", "/v1/chat/completions", body)).choices?.[0]?.message.content;
};

const wrong: [what: string, body: string, message: RegExp][] = [
  [
    "no name",
    'ctx.add("provider", { complete: async () => "x" } as never);',
    /its name must be a string/,
  ],
  [
    "an empty name",
    'ctx.add("provider", { name: "", complete: async () => "x" });',
    /its name is empty/,
  ],
  ["nothing to answer with", 'ctx.add("provider", { name: "p" });', /cannot respond/],
  ["no object", 'ctx.add("provider", "p" as never);', /must be an object/],
  [
    "an unknown point",
    'ctx.add("provder" as never, { name: "p" } as never);',
    /did you mean provider/,
  ],
  [
    "a tool without a handler",
    'ctx.tool({ name: "t", description: "d", parameters: Type.Object({}) } as never);',
    /handler must be a function/,
  ],
  [
    "a tool without a good name",
    'ctx.tool({ name: "a b", description: "d", parameters: Type.Object({}), handler: () => 1 });',
    /letters, digits/,
  ],
  [
    "a route without a handler",
    'ctx.route("GET", "/x", { access: "public" }, undefined as never);',
    /route GET \/x: its handler/,
  ],
  ...[
    '"get", "/x"',
    '"OPTIONS", "/x"',
    '"GET", "x"',
    '"GET", ""',
    '"GET", undefined',
    '"GET", "/x?y=1"',
  ].map((args): (typeof wrong)[number] => [
    `a route of ${args}`,
    `ctx.route(...([${args}] as [never, never]), { access: "public" }, () => "x");`,
    /route .*: it needs the method GET, POST, PUT, PATCH or DELETE, and a path/,
  ]),
  [
    "a tool whose parameters are no object's",
    'ctx.tool({ name: "t", description: "d", parameters: Type.String(), handler: () => 1 });',
    /schema of an object/,
  ],
  [
    "a name of white space",
    'ctx.add("provider", { name: " \\t", complete: async () => "x" });',
    /its name is empty/,
  ],
  [
    "a name with an escape",
    'ctx.add("provider", { name: "q\\x1b[2J", complete: async () => "x" });',
    /invisible/,
  ],
  [
    "complete that is no function",
    'ctx.add("provider", { name: "q", complete: 5 as never });',
    /its complete must be/,
  ],
  [
    "stream beside it that is none",
    'ctx.add("provider", { name: "q", complete: async () => "x", stream: "x" as never });',
    /its stream must be a function/,
  ],
  [
    "a wire that is no object",
    'ctx.add("provider", { name: "q", wire: true as never });',
    /its wire must be an object/,
  ],
  [
    "a wire without encode",
    'ctx.add("provider", { name: "q", wire: { error: () => ({ message: "" }) } as never });',
    /`wire\.encode` must be a function/,
  ],
  [
    "a watcher that is no function",
    'ctx.watch("provider", 5 as never);',
    /watch provider: its handler/,
  ],
  [
    "a task without times",
    'ctx.task("t", undefined as never, () => {});',
    /everyMs must be a number of milliseconds from 1 to 2000000000/,
  ],
  ...["0", "-1", "NaN", "Infinity", "2 ** 31", '"soon" as never'].map(
    (every): (typeof wrong)[number] => [
      `a task of every ${every}`,
      `ctx.task("t", { everyMs: ${every} }, () => {});`,
      /everyMs must be a number of milliseconds from 1 to 2000000000/,
    ],
  ),
  ...["0", "-1", "NaN", "Infinity", "2 ** 31", '"soon" as never'].map(
    (timeout): (typeof wrong)[number] => [
      `a handler with a timeout of ${timeout}`,
      `ctx.on("chat:request", () => {}, { timeoutMs: ${timeout} });`,
      /on chat:request: its timeoutMs must be a number of milliseconds from 1 to 2000000000/,
    ],
  ),
  ...["0", "Infinity"].map((timeout): (typeof wrong)[number] => [
    `a tool with a timeout of ${timeout}`,
    `ctx.tool({ name: "t", description: "", parameters: Type.Object({}), timeoutMs: ${timeout}, handler() {} });`,
    /its timeoutMs must be a number of milliseconds from 1 to 2000000000/,
  ]),
  [
    "a task without work",
    'ctx.task("t", { everyMs: 1000 }, undefined as never);',
    /task t: its handler/,
  ],
  ["an observer that is none", "ctx.onAny(undefined as never);", /onAny: its handler/],
  ["a clean-up that is none", "ctx.defer(Promise.resolve() as never);", /defer: its handler/],
  ["a change of settings that is none", "ctx.onConfig({} as never);", /onConfig: its handler/],
  ["a readiness that is none", "ctx.readiness(true as never);", /readiness: its handler/],
  [
    "a service that is nothing",
    'ctx.provide("chat", undefined as never);',
    /service chat: it must be an object/,
  ],
  [
    "a service that is a number",
    'ctx.provide("chat", 5 as never);',
    /service chat: it must be an object/,
  ],
  ["a throw", 'throw new Error("no luck");', /no luck/],
  ["a loop without an end", endlessLoop, /a loop blocked the gateway/],
  ["a rejection", 'return Promise.reject(new TypeError("late"));', /late/],
];

for (const [what, body, message] of wrong) {
  test(`${what} leaves the working version where it was, and shows file and line`, async ({
    gateway,
  }) => {
    assert.is(await ask(gateway), "works");
    gateway.write(file, plugin(`${good("replaced")}\n    ${body}`));
    await gateway.json("POST", "/kernel/plugins/rescan");
    const record = await gateway.json("GET", "/kernel/plugins/p");
    assert.is(record.state, "stale");
    assert.match(record.error, message);
    assert.match(record.error, /^plugin\.ts:7/);
    assert.equal([record.line, record.file.endsWith(file)], [7, true]);
    assert.is(await ask(gateway), "works");
    gateway.write(file, plugin(good("works")));
    await gateway.json("POST", "/kernel/plugins/rescan");
    assert.is((await gateway.json("GET", "/kernel/plugins/p")).state, "active");
  });
}

test("a failing watcher of contributions does not prevent other plugins from using them", async ({
  gateway,
}) => {
  const watches =
    'let told = 0; ctx.watch("provider", () => { if (told++ > 0) throw new Error("no luck"); });';
  gateway.write("plugins/watching/plugin.ts", plugin(watches).replace('"p"', '"watching"'));
  await gateway.json("POST", "/kernel/plugins/rescan");
  for (const text of ["newer", "works"]) {
    gateway.write(file, plugin(good(text)));
    await gateway.json("POST", "/kernel/plugins/rescan");
    assert.is((await gateway.json("GET", "/kernel/plugins/p")).state, "active");
    assert.is(await ask(gateway), text);
  }
  assert.ok(
    gateway.lines.some(
      ({ msg, plugin }) => plugin === "watching" && msg === "a watcher of provider failed",
    ),
  );
  rmSync(join(gateway.home, "plugins/watching"), { recursive: true });
  await gateway.json("POST", "/kernel/plugins/rescan");
});

test("a section of the configuration without a schema, needs that are no list, or events without a mode are the plugin's problem alone", async ({
  gateway,
}) => {
  const sections = [
    'Type.Object({ "p.word": Type.String() })',
    '"p"',
    "{ p: 5 }",
    "{ p: null }",
    '{ p: { type: "object", properties: {} } }',
    '{ p: Type.Object({ word: { type: "string" } }) }',
    '{ p: Type.Object({ word: Type.Unsafe({ type: "string" }) }) }',
    '{ p: Type.Ref("nowhere") }',
    "new Proxy({}, { ownKeys() { throw new Error('no keys'); } })",
  ];
  for (const section of sections) {
    gateway.write(
      file,
      plugin(good("replaced")).replace("  setup", `  config: ${section} as never,\n  setup`),
    );
    await gateway.json("POST", "/kernel/plugins/rescan");
    const { state, error } = await gateway.json("GET", "/kernel/plugins/p");
    assert.is(state, "stale", section);
    assert.match(error, /^plugin\.ts:1.*config needs a schema/, section);
    assert.is(await ask(gateway), "works");
  }
  for (const [member, why] of [
    ['needs: "store"', "needs must be a list"],
    ['events: { "p:said": null }', "each event needs a mode"],
    ['events: { "p:said": { description: "" } }', "each event needs a mode"],
    ['events: "p:said"', "each event needs a mode"],
  ]) {
    gateway.write(
      file,
      plugin(good("replaced")).replace("  setup", `  ${member} as never,\n  setup`),
    );
    await gateway.json("POST", "/kernel/plugins/rescan");
    assert.match(
      (await gateway.json("GET", "/kernel/plugins/p")).error,
      new RegExp(`^plugin\\.ts:1.*${why}`),
      member,
    );
    assert.is(await ask(gateway), "works");
  }
  gateway.write(file, plugin(good("works")));
  await gateway.json("POST", "/kernel/plugins/rescan");
});

test("registrations of a setup take effect together, once all of it has succeeded", async ({
  gateway,
}) => {
  const g = globalThis as { goOn?: (fail: boolean) => void };
  const slow = `${good("replaced")}
    ctx.route("GET", "/early", { access: "public" }, () => ({}));
    return new Promise((resolve, reject) => { globalThis.goOn = (fail) => (fail ? reject(new Error("no luck")) : resolve()); });`;
  for (const fails of [true, false]) {
    gateway.write(file, plugin(slow));
    const scan = gateway.json("POST", "/kernel/plugins/rescan");
    await untilRight(() => g.goOn, Boolean);
    assert.is(await ask(gateway), "works");
    assert.is((await gateway.request("GET", "/early")).status, 404);
    g.goOn?.(fails);
    g.goOn = undefined;
    await scan;
    assert.is(await ask(gateway), fails ? "works" : "replaced");
    gateway.write(file, plugin(good("works")));
    await gateway.json("POST", "/kernel/plugins/rescan");
  }
});

test("a member of hooks' ctx that is there already breaks no hook: the gateway's is refused, another plugin's stays", async ({
  gateway,
}) => {
  gateway.write("hooks/h/HOOK.md", "---\nevents: [chat:request]\n---\n");
  const expression =
    "[typeof ctx.log.info, typeof ctx.kv.get, typeof ctx.signal.aborted, ctx.own].join()";
  gateway.write("hooks/h/handler.ts", `export default (event, ctx) => ({ reply: ${expression} });`);
  await gateway.json("POST", "/kernel/hooks/rescan");
  const whole = plugin(good("works"));
  for (const member of [
    "log",
    "config",
    "env",
    "signal",
    "unloaded",
    "paths",
    "emit",
    "kv",
    "chat",
    "own",
  ]) {
    const gives = `hookContext: { ${member}: "" } as object,
      setup(ctx) {
        ctx.add("hookContext", { name: "${member}", create: () => "made" });`;
    gateway.write(file, whole.replace("setup(ctx) {", gives));
    await gateway.json("POST", "/kernel/plugins/rescan");
    const { state, error } = await gateway.json("GET", "/kernel/plugins/p");
    const isOurs = !["kv", "chat", "own"].includes(member);
    assert.is(state, isOurs ? "stale" : "active", member);
    if (isOurs) assert.match(error, `plugin.ts:1: hookContext cannot provide ${member}: `);
    assert.is(
      await ask(gateway),
      `function,function,boolean,${member === "own" ? "made" : ""}`,
      member,
    );
  }
  for (const path of ["hooks/h/HOOK.md", "hooks/h/handler.ts"]) rmSync(join(gateway.home, path));
  gateway.write(file, whole);
  for (const kind of ["hooks", "plugins"]) await gateway.json("POST", `/kernel/${kind}/rescan`);
});

test("an event of another owner cannot be declared again: it stays as its owner declares it", async ({
  gateway,
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one table of cases, at run time and at a start
}) => {
  gateway.write("hooks/h/HOOK.md", "---\nevents: [message:received]\n---\n");
  gateway.write("hooks/h/handler.ts", 'export default () => ({ reply: "the hook" });');
  await gateway.json("POST", "/kernel/hooks/rescan");
  const whole = plugin(good("works"));
  const declared = (event: string) =>
    `events: { "${event}": { mode: "notify", sample: {} } } as object, setup(ctx) {`;
  const called = (event: string) =>
    `setup(ctx) { ctx.event("${event}" as never, { mode: "notify" } as never);`;
  try {
    for (const [event, owner] of [
      ["message:received", "models"],
      ["config:changed", "the gateway"],
      ["p:done", undefined],
    ] as const)
      for (const register of [declared, called]) {
        gateway.write(file, whole.replace("setup(ctx) {", register(event)));
        await gateway.json("POST", "/kernel/plugins/rescan");
        const { state, error } = await gateway.json("GET", "/kernel/plugins/p");
        assert.is(state, owner ? "stale" : "active", error);
        if (owner)
          assert.match(
            error,
            `${event} belongs to ${owner}: declare an event of your own, such as p:done`,
          );
        assert.is(await ask(gateway), "the hook");
      }
    // nor does it come before its owner at a start, or count where the other is switched off
    for (const enabled of [true, false]) {
      const own = await startGateway({
        config: { plugins: { entries: { webhooks: { enabled } } } },
        files: { [file]: whole.replace("setup(ctx) {", declared("webhook:received")) },
      });
      const states = async (name: string) =>
        (await own.json("GET", `/kernel/plugins/${name}`)).state;
      try {
        assert.equal(
          [await states("p"), await states("webhooks")],
          enabled ? ["failed", "active"] : ["active", "disabled"],
        );
      } finally {
        await own.stop();
      }
    }
  } finally {
    for (const path of ["hooks/h/HOOK.md", "hooks/h/handler.ts"]) rmSync(join(gateway.home, path));
    gateway.write(file, whole);
    for (const kind of ["hooks", "plugins"]) await gateway.json("POST", `/kernel/${kind}/rescan`);
  }
});

test("errors of timers and detached promises that a plugin began are its own, and end no gateway", async () => {
  const stray = (name: string) =>
    `Promise.reject(new Error("rejected ${name}")); setTimeout(() => { throw new Error("thrown ${name}"); });`;
  const text = plugin(`${stray("in setup")}
    ctx.onConfig(() => { ${stray("in onConfig")} });
    ctx.route("GET", "/p", { access: "public" }, () => { ${stray("in a route")} return "p"; });`);
  const own = await spawnGateway({ files: { [file]: `${stray("in the module")}\n${text}` } });
  try {
    assert.is(await (await fetch(`${own.url}/p`)).json(), "p");
    const wanted = ["in the module", "in setup", "in a route"].flatMap((at) => [
      `rejected ${at}`,
      `thrown ${at}`,
    ]);
    await untilRight(own.output, (output) => wanted.every((word) => output.includes(word)));
    assert.ok(
      (own.output().match(/(?:rejection|exception) of plugin:p/g) ?? []).length >= wanted.length,
      own.output(),
    );
    assert.is(await (await fetch(`${own.url}/p`)).json(), "p");
  } finally {
    await own.stop();
  }
});

test.run();
