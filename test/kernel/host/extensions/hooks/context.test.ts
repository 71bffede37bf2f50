import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createHookChat } from "../../../../../plugins/chat/hook-chat.ts";
import { createHookKv } from "../../../../../plugins/store/hook-kv.ts";
import { descriptor, type HookHome, makeHookHome } from "./hook-home.ts";

const test = suite<{ home: HookHome }>("handler context");
test.before.each(async (context) => {
  context.home = await makeHookHome({
    env: { TOKEN_A: "a", TOKEN_B: "b", GATEWAY: "the-token-of-the-gateway" },
  });
});
test.after.each((context) => context.home.stop());

/** Returns the result of a handler with this body, from a JSON reply. */
async function evaluate(home: HookHome, body: string, more = ""): Promise<unknown> {
  home.write(
    "hooks/a/handler.ts",
    `export default async (event, ctx) => ({ reply: JSON.stringify(await (async () => { ${body} })()) });`,
  );
  home.write("hooks/a/HOOK.md", descriptor(more));
  await home.host.rescan();
  const { reply, outcomes } = await home.ask("q");
  if (reply === undefined) throw outcomes[0]?.error ?? new Error("no reply");
  return JSON.parse(reply);
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "it did not fail",
    (error: Error) => error.message,
  );
}

function provideChat(home: HookHome, chat: object): void {
  home.members.set("chat", {
    name: "chat",
    create: (call) => createHookChat(chat as never, call) as never,
  });
}

test("ctx has the hook's options, environment and paths", async ({ home }) => {
  home.settings.entries["a"] = {
    enabled: true,
    env: { OWN: "o", TOKEN_B: "mine" },
    greeting: "hi",
    deep: { x: [1] },
  };
  const body = "return { config: ctx.config, env: ctx.env, paths: ctx.paths };";
  assert.equal(await evaluate(home, body, "requires: { env: [TOKEN_A, TOKEN_B, GATEWAY] }"), {
    config: { greeting: "hi", deep: { x: [1] } },
    env: { TOKEN_A: "a", TOKEN_B: "mine", OWN: "o" },
    paths: {
      home: home.dir,
      state: home.paths.state,
      workspace: home.paths.workspace,
      hook: join(home.dir, "hooks/a"),
    },
  });
  await evaluate(home, "ctx.config.deep.x.push(2); return 1;");
  assert.equal(home.settings.entries["a"]?.["deep"], { x: [1] });
});

test("changed options apply to the next call without a reload", async ({ home }) => {
  assert.equal(await evaluate(home, "return ctx.config;"), {});
  home.settings.entries["a"] = { greeting: "new" };
  assert.is((await home.ask("q")).reply, '{"greeting":"new"}');
});

test("kv keeps each hook's values apart", async ({ home }) => {
  const values = new Map<string, unknown>();
  const kv = {
    get: async (namespace: string, key: string) => values.get(`${namespace}/${key}`),
    set: async (namespace: string, key: string, value: unknown) =>
      void values.set(`${namespace}/${key}`, value),
    delete: async (namespace: string, key: string) => values.delete(`${namespace}/${key}`),
    list: async (namespace: string, prefix = "") =>
      [...values.keys()]
        .filter((key) => key.startsWith(`${namespace}/${prefix}`))
        .map((key) => key.slice(namespace.length + 1)),
  };
  home.members.set("kv", { name: "kv", create: ({ hook }) => createHookKv({ kv } as never, hook) });
  const body =
    'await ctx.kv.set("n", { count: 1 }); await ctx.kv.set("gone", 1); const was = await ctx.kv.delete("gone"); return [await ctx.kv.get("n"), await ctx.kv.get("none") ?? null, was, await ctx.kv.list()];';
  assert.equal(await evaluate(home, body), [{ count: 1 }, null, true, ["n"]]);
  assert.equal([...values.keys()], ["hook:a/n"]);
});

test("an error names a missing store or chat", async ({ home }) => {
  assert.match(
    await failure(evaluate(home, 'return ctx.kv.get("x");')),
    /ctx\.kv comes from a plugin that is not running/,
  );
  assert.match(
    await failure(evaluate(home, 'return ctx.chat("x");')),
    /ctx\.chat comes from a plugin that is not running/,
  );
});

test("chat accepts a string, messages or a request, and emits no event", async ({ home }) => {
  const requests: { request: Record<string, unknown>; options: Record<string, unknown> }[] = [];
  provideChat(home, {
    complete: async (request: Record<string, unknown>, options: Record<string, unknown>) => {
      requests.push({ request, options });
      return {
        choices: [
          {
            message: {
              content:
                requests.length === 3
                  ? [
                      { type: "text", text: "par" },
                      { type: "text", text: "ts" },
                    ]
                  : "answer",
            },
          },
        ],
      };
    },
    defaultModel: async () => "main/gpt",
  });
  const messages = [{ role: "user", content: "hi" }];
  assert.is(await evaluate(home, 'return ctx.chat("hi");'), "answer");
  home.config["agents.defaults.model"] = "smart";
  assert.is(await evaluate(home, 'return ctx.chat([{ role: "user", content: "hi" }]);'), "answer");
  home.settings.entries["a"] = { model: "mine" };
  assert.is(
    await evaluate(
      home,
      'return ctx.chat({ messages: [{ role: "user", content: "hi" }], temperature: 0 });',
    ),
    "parts",
  );
  assert.is(await evaluate(home, 'return ctx.chat({ model: "x/y", messages: [] });'), "answer");
  assert.equal(
    requests.map(({ request }) => request["model"]),
    ["main/gpt", "smart", "mine", "x/y"],
  );
  assert.equal(requests[0]?.request, { model: "main/gpt", messages, stream: false });
  assert.equal(requests[2]?.request, { model: "mine", messages, temperature: 0, stream: false });
  assert.equal(
    [requests[0]?.options["events"], requests[0]?.options["sessionKey"]],
    [false, "hook:a"],
  );
  assert.ok(requests[0]?.options["signal"] instanceof AbortSignal);
});

test("events that cause themselves end in an error that names the chain", async ({ home }) => {
  const message = await failure(
    evaluate(
      home,
      'const { reply, outcomes } = await ctx.emit("test:asked", { text: "again", list: [], fixed: "" }); if (!reply) throw outcomes[0].error; return reply;',
    ),
  );
  assert.match(message, /endless loop.*test:asked → test:asked/);
});

test("emit reaches other hooks and returns the outcome", async ({ home }) => {
  const depths: number[] = [];
  home.bus.on("test:noticed", (event) => void depths.push(event.context.n));
  assert.equal(await evaluate(home, 'return (await ctx.emit("test:noticed", { n: 7 })).context;'), {
    n: 7,
  });
  await home.bus.drain();
  assert.equal(depths, [7]);
  const undeclared = await evaluate(
    home,
    'return (await ctx.emit("no:such", {})).outcomes[0].error.message;',
  );
  assert.match(String(undeclared), /no:such/);
});

test("the newest 200 lines of a hook are kept, and carry its name in the log", async ({ home }) => {
  await evaluate(
    home,
    'for (let n = 0; n < 250; n++) ctx.log.info(`line ${n}`); ctx.log.child({ part: "p" }).warn({ err: new Error("e") }, "odd %s", "one"); return 1;',
  );
  const lines = home.host.logs("a");
  assert.is(lines.length, 200);
  const { level, message, fields } = lines.at(-1) ?? {};
  assert.equal([level, message, fields], ["warn", "odd one", { part: "p", err: "e" }]);
  assert.ok(home.lines.some((line) => line["hook"] === "a" && line["msg"] === "odd one"));
  assert.is(home.host.logs("a", 3).length, 3);
});

test("a secret of the gateway does not appear in the lines", async ({ home }) => {
  await evaluate(
    home,
    'ctx.log.info({ t: "the-token-of-the-gateway" }, "say the-token-of-the-gateway"); return 1;',
  );
  const [line] = home.host.logs("a", 1);
  assert.equal([line?.message, line?.fields], ["say [redacted]", { t: "[redacted]" }]);
});

test("the event is the handler's own copy", async ({ home }) => {
  const result = (await evaluate(
    home,
    "return { name: event.name, type: event.type, action: event.action, session: event.sessionKey, date: event.timestamp instanceof Date, messages: event.messages };",
  )) as Record<string, unknown>;
  assert.equal(result, {
    name: "test:asked",
    type: "test",
    action: "asked",
    session: "main",
    date: true,
    messages: [],
  });
});

test.run();
