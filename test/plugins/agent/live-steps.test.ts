/** Every gateway of a store shows the steps of a running turn, and those of a failed attempt. */
import * as assert from "uvu/assert";
import type { TurnReport, TurnStatus } from "portico/agent";
import {
  type InProcessGateway,
  type SpawnedGateway,
  spawnGateway,
  startGateway,
  type TestGateway,
} from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";
import { boundTrace } from "../../../plugins/agent/turns/trace.ts";
import { call, type ScriptedGateway, scriptedGateway } from "./scripted.ts";

const test = suite("live steps");
let g: ScriptedGateway | undefined;
test.after.each(async () => {
  await g?.stop();
  g = undefined;
});

const WAITING_TOOL = `import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "waiting",
  setup(ctx) {
    ctx.tool({
      name: "wait", description: "Waits for the test", parameters: Type.Object({}),
      handler: () => globalThis[Symbol.for("portico.test.wait")],
    });
  },
});
`;

const start = async (gateway: TestGateway, message = "go"): Promise<string> =>
  (await gateway.json("POST", "/agent", { message, session: "live" })).turnId;
const show = (gateway: TestGateway, id: string) => gateway.json<TurnReport>("GET", `/turns/${id}`);

function promised(): { promise: Promise<string>; resolve(value: string): void } {
  let resolve = (_value: string): void => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Returns the report of a turn once it meets a condition. */
const awaitTurn = (
  gateway: TestGateway,
  id: string,
  isMet: (turn: TurnReport) => boolean | undefined,
) =>
  until("the turn to meet the condition", async () => {
    const turn = await show(gateway, id);
    return isMet(turn) ? turn : undefined;
  });
const ended = (gateway: TestGateway, id: string) =>
  awaitTurn(gateway, id, ({ state }) => state === "done");

test("a running turn shows its steps and the current call of a model or tool", async () => {
  const tool = promised();
  const model = promised();
  (globalThis as Record<symbol, unknown>)[Symbol.for("portico.test.wait")] = tool.promise;
  g = await scriptedGateway({ files: { "plugins/waiting/plugin.ts": WAITING_TOOL } });
  const calls = [call("lookup", { key: "a" }), call("wait", {}), model.promise];
  g.script(() => calls.shift() ?? "late");
  const id = await start(g);

  const inTool = await awaitTurn(g, id, ({ trace }) => trace[1]?.calls[0]?.isRunning);
  assert.is(inTool.state, "running");
  const [first, second] = inTool.trace;
  assert.is(first?.isRunning, undefined);
  assert.is(first?.usage?.total_tokens, 15);
  assert.is(first?.calls[0]?.ok, true);
  assert.is(first?.calls[0]?.outcome, "value of a");
  assert.is(second?.isRunning, undefined, "the model has responded");
  assert.is(second?.calls[0]?.tool, "wait");
  assert.is(second?.calls[0]?.ok, undefined);
  assert.is(inTool.usage?.total_tokens, 30);
  const { turns } = await g.json<{ turns: TurnStatus[] }>("GET", "/turns?session=live");
  assert.is(turns[0]?.steps, 2);
  assert.is(turns[0]?.usage?.total_tokens, 30);
  const inWords = await porticoHere(g.home, ["turns", "show", id]);
  assert.match(inWords.stdout, /wait \{\}\n.*running/);

  tool.resolve("waited");
  const inModel = await awaitTurn(g, id, ({ trace }) => trace[2]?.isRunning);
  assert.is(inModel.trace[1]?.calls[0]?.outcome, "waited");
  assert.ok(Date.parse(inModel.trace[2]?.startedAt ?? "") > 0);
  assert.type(inModel.trace[2]?.ms, "number");

  model.resolve("the end");
  const done = await ended(g, id);
  assert.is(done.result, "the end");
  assert.is(done.trace.length, 3);
  assert.not(JSON.stringify(done.trace).includes("isRunning"));
  assert.equal(done.failedAttempts, []);
});

test("a failed attempt keeps its error and steps while the turn waits for the next attempt and after the turn ends", async () => {
  g = await scriptedGateway({ config: { agents: { defaults: { retryDelayMs: 300 } } } });
  let isBroken = true;
  g.script((request) => {
    const last = request.messages.at(-1);
    if (last?.role !== "tool") return call("lookup", { key: "a" });
    if (!isBroken) return "done after all";
    isBroken = false;
    throw new Error("the model is broken");
  });
  const id = await start(g);
  const between = await awaitTurn(g, id, ({ failedAttempts }) => failedAttempts.length > 0);
  const failure = between.failedAttempts[0];
  assert.is(failure?.attempt, 1);
  assert.type(failure?.error.code, "string");
  assert.equal(
    failure?.trace.map((step) => [step.calls.length, step.error === undefined]),
    [
      [1, true],
      [0, false],
    ],
  );
  const done = await ended(g, id);
  assert.is(done.attempts, 2);
  assert.equal(done.failedAttempts, between.failedAttempts);
  assert.is(done.trace.length, 2, "the steps of the attempt that went well");
  const { stdout } = await porticoHere(g.home, ["turns", "show", id]);
  assert.match(stdout, /Attempt 1 failed/);
});

test("the steps of a turn that is stopped are shown as ended", async () => {
  g = await scriptedGateway();
  g.script(() => new Promise<string>(() => {}));
  const id = await start(g);
  await awaitTurn(g, id, ({ trace }) => trace[0]?.isRunning);
  await g.json("POST", `/turns/${id}/cancel`);
  const stopped = await awaitTurn(g, id, ({ state }) => state === "cancelled");
  assert.is(stopped.trace[0]?.isRunning, undefined);
  assert.type(stopped.trace[0]?.error, "string");
});

test("a stored trace is bounded: it keeps the newest steps and calls and counts the others", () => {
  const text = "x".repeat(100);
  const calls = Array.from({ length: 10 }, (_, n) => ({
    tool: `t${n}`,
    arguments: text,
    outcome: text,
    ok: true,
    ms: 1,
  }));
  const step = { model: "m", requestId: "r", ms: 1, calls };
  const { trace, omittedSteps } = boundTrace([step, step, step, step], 5_500);
  assert.is(omittedSteps, 2);
  assert.is(trace.length, 2);
  assert.equal(
    trace[0]?.calls.map(({ tool }) => tool),
    ["t8", "t9"],
  );
  assert.is(trace[0]?.omittedCalls, 8);
  assert.is(trace[1]?.omittedCalls, undefined);
  assert.equal(boundTrace([step], 10_000), { trace: [step], omittedSteps: 0 });
});

test("the totals of a long turn include steps that its record has no room for", async () => {
  const last = promised();
  g = await scriptedGateway({ config: { agents: { defaults: { maxSteps: 200 } } } });
  let steps = 0;
  const STEPS = 120;
  g.script(() =>
    ++steps > STEPS ? last.promise : call("lookup", { key: `${steps}`.repeat(2_000) }),
  );
  const id = await start(g);
  const running = await awaitTurn(g, id, ({ trace }) => trace.at(-1)?.isRunning && steps > STEPS);
  assert.ok((running.omittedSteps ?? 0) > 0);
  assert.is(running.steps, STEPS + 1);
  assert.is(running.usage?.total_tokens, STEPS * 15);
  const { turns } = await g.json<{ turns: TurnStatus[] }>("GET", "/turns?session=live");
  assert.is(turns[0]?.usage?.total_tokens, STEPS * 15);
  last.resolve("done");
  await ended(g, id);
});

test("a record truncates long names and errors of models and tools", async () => {
  const LONG = "x".repeat(100_000);
  g = await scriptedGateway({ config: { agents: { defaults: { retryDelayMs: 60_000 } } } });
  g.script((request) => {
    if (request.messages.at(-1)?.role !== "tool") return call(LONG, {});
    throw Object.assign(new Error(LONG), { status: 503, code: "overloaded" });
  });
  const id = await start(g);
  const waiting = await awaitTurn(g, id, ({ failedAttempts }) => failedAttempts.length > 0);
  assert.is(waiting.failedAttempts[0]?.trace.length, 2);
  const { length } = JSON.stringify(waiting.failedAttempts);
  assert.ok(length < 20_000, `${length} characters`);
});

const together = suite("live steps are visible from another gateway on the same store");
let postgres: TestPostgres;
let upstream: Upstream;
let killed: SpawnedGateway | undefined;
let other: InProcessGateway | undefined;
let isAnswering = false;
together.before(async () => {
  postgres = await startPostgres();
  upstream = await startUpstream((_request, res) => {
    if (isAnswering) json(res, completion("Hello"));
  });
});
together.after(async () => {
  await killed?.kill("SIGKILL");
  await other?.stop();
  await upstream.close();
  await postgres.stop();
});

together(
  "another gateway shows the running steps, and the attempt that was interrupted by a kill",
  async () => {
    const config = {
      channels: {
        up: { provider: "openai", baseUrl: upstream.url, models: ["up"], maxRetries: 0 },
      },
      agents: { defaults: { model: "up", retryDelayMs: 20 } },
      store: { url: postgres.emptyUrl() },
    };
    killed = await spawnGateway({ config });
    const id = await start(killed);
    await awaitTurn(killed, id, ({ trace }) => trace[0]?.isRunning);
    other = await startGateway({ config });
    const elsewhere = await show(other, id);
    assert.is(elsewhere.state, "running");
    assert.is(elsewhere.trace[0]?.isRunning, true);
    await killed.kill("SIGKILL");
    isAnswering = true;
    const done = await ended(other, id);
    assert.is(done.result, "Hello");
    assert.equal(
      done.failedAttempts.map(({ attempt, error }) => [attempt, error.code]),
      [[1, "interrupted"]],
    );
    assert.type(done.failedAttempts[0]?.trace[0]?.error, "string");
  },
);

test.run();
together.run();
