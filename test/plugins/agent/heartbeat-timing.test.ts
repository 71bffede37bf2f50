import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { NewItem, Store } from "portico/store";
import { createHeartbeat } from "../../../plugins/agent/heartbeat/heartbeat.ts";
import type { AgentContext } from "../../../plugins/agent/context.ts";
import { temporaryStore } from "../store/temporary-store.ts";
import { startGateway } from "../../support/gateway.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const wake = (id: string): NewItem => ({ id, lane: "main", kind: "wake.now", body: { text: id } });

/** A heartbeat over a store of its own, whose calls a test may watch or fail. */
function heartbeatOver(change: (store: Store) => Partial<Store>, every = "1h") {
  const t = temporaryStore();
  const store: Store = { ...t.store, ...change(t.store) };
  const defaults = { heartbeat: { every, cooldownMs: 0 }, compactAtTokens: 60_000, maxAttempts: 2 };
  const parts = {
    ctx: { log: quietLog([]) },
    store: () => store,
    defaults: () => defaults,
    settings: () => ({ ...defaults, workspace: t.dir }),
  } as unknown as AgentContext;
  const heartbeat = createHeartbeat(parts, { retryMs: 5 });
  const turns = () => t.store.items.list({ kind: "turn" });
  return {
    ...t,
    heartbeat,
    turns,
    async stop() {
      await heartbeat.stop();
      await t.remove();
    },
  };
}

test("the time of the next heartbeat is known as soon as the gateway accepts requests", async () => {
  const stateWith = async (every: string) => {
    const gateway = await startGateway({
      config: { agents: { defaults: { heartbeat: { every } } } },
    });
    try {
      return await gateway.json("GET", "/heartbeat");
    } finally {
      await gateway.stop();
    }
  };
  const before = Date.now();
  const { nextAt, everyMs } = await stateWith("1h");
  assert.is(everyMs, 3_600_000);
  // The store dates the beat, by a clock that never runs ahead of this one.
  assert.ok(Date.parse(nextAt) >= before + everyMs - 1000);
  assert.ok(Date.parse(nextAt) <= Date.now() + everyMs + 1000);
  assert.is((await stateWith("0")).nextAt, null);
});

test("no heartbeat is lost if the store cannot be written at the start", async () => {
  let failures = 2;
  const h = heartbeatOver(({ schedules }) => ({
    schedules: {
      ...schedules,
      put: async (schedule) => {
        if (failures-- > 0) throw new Error("the disk is full");
        return schedules.put(schedule);
      },
    },
  }));
  h.heartbeat.start();
  await until("the schedule", () => h.store.schedules.get("heartbeat", "main"));
  await h.stop();
});

test("an immediate wake is not lost when the store fails", async () => {
  let failures = 2;
  const h = heartbeatOver(
    (store) => ({
      pending: async (lane, kind) => {
        if (failures-- > 0) throw new Error("busy");
        return store.pending(lane, kind);
      },
    }),
    "0",
  );
  await h.store.enqueue({ items: [wake("e1")] });
  h.heartbeat.start();
  await until("the turn", async () => (await h.turns()).length === 1);
  await h.stop();
});

test("only one heartbeat waits while the session is busy, regardless of the number of wakes and beats", async () => {
  let looks = 0;
  const h = heartbeatOver(({ items }) => ({
    items: {
      ...items,
      list: (filter) => {
        looks++;
        return items.list(filter);
      },
    },
  }));
  h.heartbeat.start();
  for (const id of ["e1", "e2", "e3"]) {
    const before = looks;
    await h.store.enqueue({ items: [wake(id)] });
    await until("a look at it", () => looks > before);
  }
  const { turnId } = (await h.heartbeat.startNow("manual")) ?? {};
  h.clock.now += 2 * 3_600_000;
  h.heartbeat.reschedule();
  await until(
    "the beat",
    async () => Number(await h.store.schedules.nextDueAt("heartbeat")) > h.clock.now,
  );
  const turns = await h.turns();
  assert.equal(
    turns.map(({ id }) => id),
    [turnId],
  );
  const beat = await h.heartbeat.prepare(turnId as string, "wake");
  assert.ok(
    beat !== "nothing" && ["e1", "e2", "e3"].every((id) => beat.untrusted[0]?.text.includes(id)),
  );
  await h.stop();
});

test("a turn that was started for events but has none does not run for the checklist alone", async () => {
  const h = heartbeatOver(() => ({}));
  writeFileSync(join(h.dir, "HEARTBEAT.md"), "- look at the build\n");
  assert.is(await h.heartbeat.prepare("t1", "wake"), "nothing");
  assert.is.not(await h.heartbeat.prepare("t2", "interval"), "nothing");
  await h.stop();
});

test.run();
