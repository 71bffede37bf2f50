/** Events of hook payloads: written with their check, emitted afterwards, whatever happens in between. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { HOOK, startHooks } from "../../../plugins/polls/checking/hooks.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { type TemporaryStore, temporaryStore } from "../store/temporary-store.ts";
import { makePolls } from "./fake-polls.ts";

const test = suite("hooks of polls");
let t: TemporaryStore;
let polls: Awaited<ReturnType<typeof makePolls>>;
let hooks: ReturnType<typeof startHooks> | undefined;
let events: Record<string, unknown>[];

test.before.each(async () => {
  t = temporaryStore();
  polls = await makePolls(t.store, t.dir);
  events = [];
  mkdirSync(join(t.dir, "inbox"));
  for (const name of ["a", "b", "c"]) writeFileSync(join(t.dir, "inbox", name), name);
  const payload = { kind: "hook" as const, event: "file:new", context: { own: "words" } };
  const source = { kind: "file" as const, path: "inbox" };
  await polls.entries.add(
    { name: "inbox", every: "1h", source, fireOnFirst: true, payload },
    "api",
    "owner",
  );
});
test.after.each(async () => {
  await hooks?.stop();
  hooks = undefined;
  await t.remove();
});

const listen = (fail: (name: string) => boolean = () => false) =>
  polls.bus.on("file:new" as never, ({ context }: { context: Record<string, unknown> }) => {
    events.push(context);
    if (fail(nameOf(context))) throw new Error("the printer burns");
  });
const nameOf = (context: Record<string, unknown>) => (context["item"] as { name: string }).name;
const check = async () => polls.runner.runNow(() => polls.entries.schedules.find("inbox"));
const ended = (state: "done" | "dead", count: number) =>
  until(
    `${count} ${state}`,
    async () => (await t.store.items.list({ kind: HOOK, state })).length === count,
  );

test("a check's events reach handlers even if the process ends right after the commit", async () => {
  listen();
  assert.is((await check())?.count, 3);
  assert.equal(events, [], "nothing runs inside the check");
  hooks = startHooks(polls.ctx);
  await ended("done", 3);
  assert.equal(events.map(nameOf), ["a", "b", "c"]);
  assert.is(new Set(events.map((context) => context["deliveryId"])).size, 3);
  assert.ok(events.every((context) => context["name"] === "inbox" && context["own"] === "words"));
  assert.is((await check())?.status, "unchanged");
  assert.is(events.length, 3);
});

test("interrupted handlers receive the event again, with the same id", async () => {
  listen();
  await check();
  // A process that took the first one and is gone.
  const [cut] = await t.store.claim("gone", 1, 30_000, [HOOK]);
  t.clock.now += 30_000;
  hooks = startHooks(polls.ctx);
  await ended("done", 3);
  assert.is(`hook_${events[0]!["deliveryId"]}`, cut!.item.id);
  assert.equal(events.map(nameOf), ["a", "b", "c"]);
});

test("an event that ends the process each time is given up, and the others continue", async () => {
  listen();
  const result = await check();
  for (let i = 0; i < 3; i++) {
    await t.store.claim("gone", 1, 30_000, [HOOK]);
    t.clock.now += 30_000;
  }
  hooks = startHooks(polls.ctx);
  await Promise.all([ended("dead", 1), ended("done", 2)]);
  assert.equal(events.map(nameOf), ["b", "c"]);
  assert.match(JSON.stringify(await t.store.runs.get(result!.runId)), /stopped 3 times/);
});

test("a failing handler is recorded in the check's history", async () => {
  listen((name) => name === "b");
  hooks = startHooks(polls.ctx);
  const result = await check();
  await Promise.all([ended("dead", 1), ended("done", 2)]);
  assert.equal(events.map(nameOf), ["a", "b", "c"]);
  const run = await t.store.runs.get(result!.runId);
  assert.is(run?.status, "changed");
  assert.match((run!.data as { error: string }).error, /file:new: .*the printer burns/);
});

test.run();
