import type { BusHandler, EventMode } from "portico";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { Bus } from "../../../kernel/host/bus.ts";
import { createLog } from "../../../kernel/log/log.ts";

declare module "portico" {
  interface EventEffects {
    "test:event": { changes: "text" | "list"; may: "reply" | "block" };
  }
  interface Events {
    "test:event": { text: string; list?: string[]; fixed?: string };
  }
}

function makeBus(mode: EventMode = "answer"): Bus {
  const bus = new Bus(createLog({ level: "silent" }).log);
  bus.declare("test:event", {
    mode,
    description: "",
    changes: ["text", "list"],
    sample: { text: "" },
  });
  return bus;
}
const emit = (
  bus: Bus,
  context: { text: string; list?: string[]; fixed?: string } = { text: "a" },
) => bus.emit("test:event", context);
const append =
  (letter: string): BusHandler<"test:event"> =>
  ({ context }) => {
    (context as { text: string }).text += letter;
  };

test("handlers run by priority, then in the order of registration", async () => {
  const bus = makeBus();
  bus.on("test:event", append("3"), { priority: -1 });
  bus.on("test:event", append("1"), { priority: 5 });
  bus.on("test:event", append("2"), { priority: 5 });
  assert.is((await emit(bus)).context.text, "a123");
});

test("an event is declared for as long as somebody declares it, by the latest who does", async () => {
  const bus = new Bus(createLog({ level: "silent" }).log);
  const spec = (description: string) => ({
    mode: "notify" as const,
    description,
    sample: { text: "" },
  });
  const shared = spec("shared");
  const undoOld = bus.declare("test:event", spec("old"));
  const undoNew = bus.declare("test:event", spec("new"));
  void undoOld();
  assert.is(bus.spec("test:event")?.description, "new");
  const undoFirst = bus.declare("test:event", shared);
  const undoSecond = bus.declare("test:event", shared);
  void undoFirst();
  assert.is(bus.spec("test:event")?.description, "shared");
  void undoFirst();
  assert.is(bus.spec("test:event")?.description, "shared", "each undo counts once");
  void undoSecond();
  assert.is(bus.spec("test:event")?.description, "new");
  void undoNew();
  assert.is(bus.spec("test:event"), undefined);
});

test("a handler that throws, rejects or hangs changes nothing and affects no other handler", async () => {
  const bus = makeBus();
  let aborted = false;
  bus.on("test:event", ({ context }) => {
    Object.assign(context, { text: "half done" });
    throw new Error("boom");
  });
  bus.on("test:event", () => Promise.reject(new Error("later")));
  bus.on(
    "test:event",
    (_event, { signal }) =>
      new Promise(() =>
        signal.addEventListener("abort", () => {
          aborted = true;
        }),
      ),
    {
      timeoutMs: 20,
      owner: "slow",
    },
  );
  bus.on("test:event", append("z"));
  const { context, outcomes } = await emit(bus);
  assert.is(context.text, "az");
  assert.equal(
    outcomes.map(({ ok }) => ok),
    [false, false, false, true],
  );
  assert.is(outcomes[2]?.timedOut, true);
  assert.is(outcomes[2]?.owner, "slow");
  assert.ok(aborted);
});

test("a change made after the deadline is lost", async () => {
  const bus = makeBus();
  let late: (() => void) | undefined;
  bus.on(
    "test:event",
    ({ context }) =>
      new Promise((resolve) => {
        late = () => {
          context.list?.push("late");
          resolve(undefined);
        };
      }),
    { timeoutMs: 10 },
  );
  const { context } = await emit(bus, { text: "a", list: ["first"] });
  late?.();
  assert.equal(context.list, ["first"]);
});

test("only declared fields can be changed", async () => {
  const bus = makeBus();
  bus.on("test:event", ({ context }) => {
    (context as { fixed?: string }).fixed = "no";
  });
  const { context, outcomes } = await emit(bus, { text: "a", fixed: "yes" });
  assert.is(context.fixed, "yes");
  assert.match(outcomes[0]?.error?.message ?? "", /read only/);
});

test("the first reply or block ends an event with a reply; a change event has no replies", async () => {
  const bus = makeBus();
  bus.on("test:event", () => ({ reply: "one" }));
  bus.on("test:event", () => ({ block: "two" }));
  const result = await emit(bus);
  assert.is(result.reply, "one");
  assert.is(result.block, undefined);

  const changing = makeBus("change");
  changing.on("test:event", () => ({ reply: "one" }));
  assert.is((await emit(changing)).reply, undefined);
});

test("messages are collected in order", async () => {
  const bus = makeBus();
  bus.on("test:event", ({ messages }) => void messages.push("one"));
  bus.on("test:event", ({ messages }) => void messages.push("two"));
  assert.equal((await emit(bus)).messages, ["one", "two"]);
});

test("a notify event does not wait for its handlers, and keeps their order", async () => {
  const bus = makeBus("notify");
  const calls: string[] = [];
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  bus.on("test:event", async ({ context }) => {
    await gate;
    calls.push(context.text);
  });
  await emit(bus, { text: "1" });
  await emit(bus, { text: "2" });
  assert.equal(calls, []);
  release();
  await bus.drain();
  assert.equal(calls, ["1", "2"]);
});

test("an emit under way keeps the handlers it began with", async () => {
  const bus = makeBus();
  const off: { undo?: () => void | Promise<void> } = {};
  bus.on("test:event", () => void off.undo?.());
  off.undo = bus.on("test:event", append("b"));
  assert.is((await emit(bus)).context.text, "ab");
  assert.is((await emit(bus)).context.text, "a");
});

test("an event that causes itself stops with the chain in the error", async () => {
  const bus = makeBus();
  let error: Error | undefined;
  bus.on("test:event", async () => {
    const { outcomes } = await emit(bus);
    error ??= outcomes[0]?.error;
  });
  await emit(bus);
  assert.match(error?.message ?? "", /test:event → test:event/);
});

test("an undeclared event is reported as an outcome", async () => {
  const bus = new Bus(createLog({ level: "silent" }).log);
  const { outcomes, context } = await emit(bus);
  assert.match(outcomes[0]?.error?.message ?? "", /declared/);
  assert.equal(context, { text: "a" });
});

test("a handler that has to judge an event refuses it while it fails or hangs", async () => {
  for (const mode of ["answer", "change"] as const) {
    const bus = makeBus(mode);
    let works = false;
    bus.on("test:event", () => (works ? undefined : new Promise(() => {})), {
      failClosed: true,
      timeoutMs: 10,
    });
    bus.on("test:event", append("b"));
    const refused = await emit(bus);
    assert.equal([refused.refusal?.code, refused.refusal?.status], ["hook_unavailable", 503]);
    assert.is(refused.context.text, "a", "no further handler is asked");
    works = true;
    const passed = await emit(bus);
    assert.equal([passed.refusal, passed.context.text], [undefined, "ab"]);
  }
});

test("an event that can only be blocked takes no reply", async () => {
  const bus = new Bus(createLog({ level: "silent" }).log);
  bus.declare("test:event", {
    mode: "answer",
    effects: ["block"],
    description: "",
    sample: { text: "" },
  });
  const undo = bus.on("test:event", () => ({ reply: "no" }));
  assert.is((await emit(bus)).reply, undefined);
  void undo();
  bus.on("test:event", () => ({ block: "no" }));
  const { block, refusal } = await emit(bus);
  assert.equal([block, refusal?.code, refusal?.status], ["no", "blocked_by_hook", 403]);
});

test("a handler of a whole kind of events stands among those of the event itself", async () => {
  const bus = makeBus();
  const undo = bus.on("test:*" as "test:event", append("2"));
  bus.on("test:event", append("3"), { priority: -1 });
  bus.on("test:event", append("1"), { priority: 1 });
  assert.ok(bus.hasListeners("test:other"));
  assert.is((await emit(bus)).context.text, "a123");
  void undo();
  assert.not(bus.hasListeners("test:other"));
  assert.is((await emit(bus)).context.text, "a13");
});

test("observers see every event with its result", async () => {
  const bus = makeBus();
  const observations: unknown[] = [];
  bus.onAny((event, result) =>
    observations.push([event.name, event.type, event.action, result.reply]),
  );
  bus.on("test:event", () => ({ reply: "yes" }));
  await emit(bus);
  assert.equal(observations, [["test:event", "test", "event", "yes"]]);
});

test.run();
