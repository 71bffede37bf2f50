import { join } from "node:path";
import { endlessLoop } from "../../../../support/hook-files.ts";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { answering, descriptor, type HookHome, makeHookHome, rejects } from "./hook-home.ts";
import { until, untilRight } from "../../../../support/until.ts";

const test = suite<{ home: HookHome }>("hook runner");
test.before.each(async (context) => {
  context.home = await makeHookHome();
});
test.after.each((context) => context.home.stop());

/** Puts a hook in place and waits for nothing else: scans are explicit in this file. */
async function put(
  home: HookHome,
  handler: string,
  more = "",
  name = "a",
  events = "test:asked",
): Promise<void> {
  home.write(`hooks/${name}/handler.ts`, handler);
  home.write(`hooks/${name}/HOOK.md`, descriptor(more, events));
  await home.host.rescan();
}

/**
 * The message of a loop that was ended, of a run in which the process was not itself held up: where it was, the time limit
 * from outside may come before the guard that knows the place.
 */
async function untilPlaced(run: (attempt: number) => Promise<string | undefined>): Promise<string> {
  let attempts = 0;
  return until("a loop that is ended from within", async () => {
    const message = (await run(++attempts)) ?? "";
    return /without yielding/.test(message) ? undefined : message;
  });
}

test("only declared fields change", async ({ home }) => {
  await put(
    home,
    `export default (event) => {
       event.context.text = event.context.text.toUpperCase();
       event.context.list.push("x");
       event.context.fixed = "broken";
       event.context.extra = 1;
       event.messages.push("said", 3);
     };`,
  );
  const { context, messages, outcomes } = await home.ask("q");
  assert.equal(context, { text: "Q", list: ["x"], fixed: "stays" });
  assert.equal(messages, ["said"]);
  assert.ok(outcomes[0]?.ok);
  const lines = home.host.logs("a").map((line) => line.message);
  assert.ok(lines.some((line) => /context\.fixed is ignored.*only text, list/.test(line)));
});

test("ignored changes are counted, with the events that allow them", async ({ home }) => {
  await put(
    home,
    `export default (event) => {
       event.context.fixed = "broken";
       event.context.n = 2;
       event.context.text = "changed";
       return { reply: "no" };
     };`,
    "",
    "a",
    "test:asked, test:noticed",
  );
  for (const _ of [1, 2]) await home.bus.emit("test:noticed", { n: 1 });
  await home.bus.drain();
  const ignored = () => home.host.info("a").ignored;
  const texts = ignored().map(({ event, count, message }) => `${event} ${count} ${message}`);
  assert.ok(texts.every((text) => text.startsWith("test:noticed 2 ")));
  assert.match(
    texts.find((text) => text.includes("context.text")) ?? "",
    /use test:asked for that/,
  );
  assert.match(texts.find((text) => text.includes("reply")) ?? "", /use test:asked for that/);
  assert.not.match(texts.find((text) => text.includes("context.n ")) ?? "", /for that/);
  assert.is(home.host.info("a").failures ?? 0, 0);
  await put(home, answering("x"));
  assert.equal(ignored(), [], "a new version begins without any");
});

test("a field keeps its kind", async ({ home }) => {
  await put(
    home,
    "export default (event) => { event.context.text = 42; event.context.list = {}; };",
  );
  assert.equal((await home.ask("q")).context, { text: "q", list: [], fixed: "stays" });
});

test("a handler that fails half-way has changed nothing", async ({ home }) => {
  await put(
    home,
    'export default async (event) => {\n  event.context.text = "half";\n  throw new TypeError("boom");\n};',
  );
  await put(home, answering("next"), "priority: -1", "b");
  const { context, reply, outcomes } = await home.ask("q");
  assert.equal([context.text, reply], ["q", "next"]);
  assert.equal(
    outcomes.map((outcome) => outcome.ok),
    [false, true],
  );
  const { lastError, failures, lastRun, state } = home.host.info("a");
  assert.equal([state, failures, lastRun?.ok], ["active", 1, false]);
  assert.equal(
    [lastError?.message, lastError?.line, lastError?.event],
    ["TypeError: boom", 3, "test:asked"],
  );
  assert.is(lastError?.file, join(home.dir, "hooks/a/handler.ts"));
  const line = home.lines.find((line) => line["hook"] === "a" && line["level"] === "error");
  assert.match(String(line?.["msg"]), /handler\.ts:3: TypeError: boom/);
});

test("handlers run by priority, and the first reply ends the event", async ({ home }) => {
  await put(home, answering("low"), "priority: -5", "a");
  await put(home, answering("high"), "priority: 5", "b");
  await put(home, 'export default (event) => { event.context.text += "1"; };', "priority: 10", "c");
  const { reply, context, outcomes } = await home.ask("q");
  assert.equal([reply, context.text, outcomes.length], ["high", "q1", 2]);
  home.settings.entries["a"] = { priority: 7 };
  await home.host.reconfigure(["hooks.entries.a.priority"]);
  assert.is((await home.ask("q")).reply, "low");
});

test("a handler blocks with or without a reason", async ({ home }) => {
  await put(home, 'export default () => ({ block: "no" });');
  assert.is((await home.ask("q")).block, "no");
  await put(home, "export default () => ({ block: true });");
  const { block, refusal } = await home.ask("q");
  assert.equal([block, refusal?.message], ["", "A hook refused the request."]);
  await put(home, "export default () => ({ block: false });");
  assert.is((await home.ask("q")).block, undefined);
});

test("a reply to an event without replies is ignored and reported", async ({ home }) => {
  await put(home, answering("hello?"), "", "a", "test:noticed");
  await home.bus.emit("test:noticed", { n: 1 });
  await home.bus.drain();
  assert.ok(home.host.logs("a").some((line) => /cannot be answered/.test(line.message)));
});

test("a handler that hangs is abandoned at its deadline with its signal aborted, and its late changes are ignored", async ({
  home,
}) => {
  const g = globalThis as { aborted?: boolean; late?: () => void };
  await put(
    home,
    `export default async (event, ctx) => {
       ctx.signal.addEventListener("abort", () => { globalThis.aborted = true; });
       await new Promise((resolve) => { globalThis.late = resolve; });
       event.context.text = "late";
       throw new Error("rejected after its deadline");
     };`,
    "timeoutMs: 30",
  );
  await put(home, answering("next"), "priority: -1", "b");
  const { reply, context, outcomes } = await home.ask("q");
  assert.equal([reply, outcomes[0]?.timedOut, g.aborted], ["next", true, true]);
  assert.equal(home.host.info("a").lastError?.timedOut, true);
  g.late?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(context.text, "q");
  assert.is(home.host.info("a").failures, 1);
});

test("an endless loop is ended, its position is named, and the gateway continues", async ({
  home,
}) => {
  await put(home, answering("next"), "priority: -1", "b");
  const loops: [string, number][] = [
    ["export default async () => {\n  while (true) {}\n};", 2],
    ["export default async () => {\n  await null;\n  for (;;) ;\n};", 3],
    ["export default async () => {\n  while (true)\n    await null;\n};", 2],
  ];
  for (const [text, line] of loops) {
    const message = await untilPlaced(async (attempt) => {
      await put(home, `${text}\n// ${attempt}`, "timeoutMs: 50");
      assert.is((await home.ask("q")).reply, "next");
      return home.host.info("a").lastError?.message;
    });
    assert.match(message, /a loop blocked the gateway/);
    const { lastError } = home.host.info("a");
    assert.ok(
      [line, line + 1].includes(lastError?.line ?? 0),
      `line ${lastError?.line} of ${text}`,
    );
  }
});

test("blocking code without a loop is interrupted from outside", async ({ home }) => {
  await put(home, answering("next"), "priority: -1", "b");
  await put(
    home,
    'export default () => { /^(a+)+$/.test(`${"a".repeat(40)}b`); };',
    "timeoutMs: 50",
  );
  assert.is((await home.ask("q")).reply, "next");
  assert.match(home.host.info("a").lastError?.message ?? "", /without yielding/);
});

test("an endless loop while loading is a failure to load", async ({ home }) => {
  const g = globalThis as { evaluated?: number };
  await put(home, answering("good"));
  const error = await untilPlaced(async (attempt) => {
    const text = `globalThis.evaluated = 1 + (globalThis.evaluated ?? 0); ${endlessLoop}\nexport default () => ${attempt};`;
    delete g.evaluated;
    home.write("hooks/a/handler.ts", text);
    await home.host.rescan();
    return home.host.info("a").error;
  });
  assert.is(home.host.info("a").state, "stale");
  assert.match(error, /^handler\.ts:1.*a loop blocked the gateway/);
  assert.is((await home.ask("q")).reply, "good");
  await home.host.rescan();
  assert.is(g.evaluated, 1, "the same content is not evaluated again");
});

test("after five failures in a row a hook is tripped until it changes or is enabled", async ({
  home,
}) => {
  const failed: unknown[] = [];
  home.bus.on("hook:failed", (event) => void failed.push({ ...event.context }));
  await put(
    home,
    'export default (event) => { if (event.context.text !== "fine") throw new Error("boom"); };',
  );
  for (let count = 0; count < 4; count++) await home.ask("q");
  await home.ask("fine");
  assert.is(home.host.info("a").failuresInARow, 0);
  for (let count = 0; count < 7; count++) await home.ask("q");
  const resting = home.host.info("a");
  assert.equal(
    [resting.state, resting.failuresInARow, resting.failures, resting.runs],
    ["resting", 5, 9, 10],
  );
  assert.match(resting.error ?? "", /portico hooks enable a/);
  const { name, dir, state, error } = resting;
  const standings = home.host.standings().filter((standing) => standing.name === "a");
  assert.equal(
    standings.map((standing) => [standing.name, standing.dir, standing.state, standing.error]),
    [[name, dir, state, error]],
  );
  await home.bus.drain();
  const last = failed.at(-1) as Record<string, unknown>;
  assert.is(failed.length, 9);
  assert.equal(
    [last["hook"], last["event"], last["error"], last["line"], last["failures"], last["resting"]],
    ["a", "test:asked", "boom", 1, 5, true],
  );

  assert.is((await home.host.enable("a")).state, "active");
  await home.ask("q");
  assert.is(home.host.info("a").failures, 10);

  for (let count = 0; count < 5; count++) await home.ask("q");
  assert.is(home.host.info("a").state, "resting");
  await put(home, answering("changed"));
  assert.is(home.host.info("a").state, "active");
  assert.is((await home.ask("q")).reply, "changed");
});

test("a hook on hook:failed that fails does not go round in circles", async ({ home }) => {
  await put(
    home,
    'export default () => { throw new Error("boom"); };',
    "",
    "a",
    "hook:failed, test:asked",
  );
  await home.ask("q");
  await home.bus.drain();
  assert.is(home.host.info("a").failures, 2);
});

test("errors of timers and detached promises are attributed to their hook", async ({ home }) => {
  await put(home, answering("x"));
  home.host.strayError("hook:a", new Error("stray"));
  assert.equal(
    [home.host.info("a").failures, home.host.info("a").lastError?.message],
    [1, "stray"],
  );
});

test("thrown values that are not errors are reported too", async ({ home }) => {
  await put(home, 'export default () => { throw "just text"; };');
  await home.ask("q");
  assert.is(home.host.info("a").lastError?.message, "just text");
  await put(home, "export default () => Promise.reject(undefined);");
  await home.ask("q");
  assert.match(home.host.info("a").lastError?.message ?? "", /not an Error/);
  assert.is((await home.ask("q")).outcomes[0]?.ok, false);
});

test("an event that nobody emits is reported with the nearest name", async ({ home }) => {
  await put(home, answering("x"), "", "a", "test:askd, test:noticed, quite-else");
  assert.equal(home.host.info("a").events, [
    { name: "test:askd", known: false, didYouMean: "test:asked" },
    { name: "test:noticed", known: true },
    { name: "quite-else", known: false },
  ]);
  const check = await home.host.check("a");
  assert.is(check.ok, false);
  assert.equal(
    check.problems.map((problem) => problem.line),
    [2, 2],
  );
});

test("a run by hand shows effects, lines and outcome, and counts for nothing", async ({ home }) => {
  await put(
    home,
    'export default (event, ctx) => { ctx.log.info({ n: 1 }, "here"); event.context.text += "!"; return { reply: event.context.fixed }; };',
  );
  const report = await home.host.run("a", { context: { text: "given" } });
  assert.equal([report.ok, report.event, report.context["text"]], [true, "test:asked", "given"]);
  assert.equal(report.effects?.changed, { text: "given!" });
  assert.equal(report.effects?.result, { reply: "stays" });
  assert.equal(
    report.logs.map(({ level, message, fields }) => [level, message, fields]),
    [["info", "here", { n: 1 }]],
  );
  assert.is(home.host.info("a").runs, 0);
  await put(home, 'export default () => {\n  throw new Error("boom");\n};');
  const failed = await home.host.run("a", { event: "test:asked" });
  assert.equal([failed.ok, failed.error, failed.line], [false, "handler.ts:2: boom", 2]);
  await rejects(() => home.host.run("a", { event: "test:askd" }), /Did you mean test:asked/);
  await rejects(() => home.host.run("nobody", {}), /no hook nobody/);
});

test("a hook that does not load cannot be run by hand, and says why", async ({ home }) => {
  await put(home, "\nthrow new Error('not today');");
  await rejects(
    () => home.host.run("a", {}),
    /^a cannot be loaded: handler\.ts:2(:\d+)?: not today\.$/,
  );
  await put(home, 'import "no-such-package";\nexport default () => {};');
  await rejects(
    () => home.host.run("a", {}),
    /^a cannot be loaded: handler\.ts:1:\d+: Cannot find module 'no-such-package'\.$/,
  );
  await put(home, answering("x"), "enabled: 5");
  await rejects(
    () => home.host.run("a", {}),
    /^a cannot be loaded: HOOK\.md:\d+: "enabled" must be true or false\.$/,
  );
  home.remove("hooks/a/handler.ts");
  await home.host.rescan();
  await rejects(() => home.host.run("a", {}), /^a cannot be loaded: /);
});

test("a disabled hook can be run by hand", async ({ home }) => {
  await put(home, answering("tried"), "enabled: false");
  assert.is(home.host.info("a").state, "disabled");
  assert.equal((await home.host.run("a", {})).effects?.result, { reply: "tried" });
});

test("while a hook is run by hand, others are loaded, and its own next version too", async ({
  home,
}) => {
  let release = () => {};
  const ended: string[] = [];
  Object.assign(globalThis, {
    runRelease: new Promise<void>((resolve) => {
      release = resolve;
    }),
    runEnded: ended,
  });
  const handler = (reply: string) =>
    `export default async () => { await globalThis.runRelease; return { reply: "${reply}" }; };
     export const dispose = () => void globalThis.runEnded.push("${reply}");`;
  await put(home, handler("old"), "timeoutMs: 600000");
  const report = home.host.run("a", {});
  await put(home, answering("b"), "priority: 9", "b");
  assert.is((await home.ask("q")).reply, "b");
  await put(home, handler("new"), "timeoutMs: 600000");
  assert.is(home.host.info("a").loaded?.generation, 2);
  assert.equal(ended, [], "the version that is being run is still there");
  release();
  assert.equal((await report).effects?.result, { reply: "old" });
  await untilRight(
    () => ended,
    () => ended.length > 0,
  );
  assert.equal(ended, ["old"]);
});

test("a version that is loaded for one run or check by hand is cleaned up after it", async ({
  home,
}) => {
  const ended: unknown[] = [];
  Object.assign(globalThis, { runEnded: ended });
  await put(
    home,
    `let unloaded;
     export default (event, ctx) => { unloaded = ctx.unloaded; return { reply: String(unloaded.aborted) }; };
     export const dispose = () => void globalThis.runEnded.push(unloaded?.aborted);`,
    "enabled: false",
  );
  assert.equal((await home.host.run("a", {})).effects?.result, { reply: "false" });
  assert.equal(ended, [true]);
  assert.ok((await home.host.check("a")).ok);
  assert.equal(ended, [true, undefined]);
});

test.run();
