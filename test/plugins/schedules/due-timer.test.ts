/** The one timer, and bursts that are taken ahead of their time. */
import type { DueLoop } from "portico/schedules";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startDueTimer } from "../../../plugins/schedules/due-timer.ts";
import { until } from "../../support/until.ts";
import { makeCron } from "../cron/fake-gateway.ts";

/** A loop over a list of due times, on a clock that the test may step. */
function fakeLoop(due: number[]) {
  let step = 0;
  const fired: number[] = [];
  const errors: unknown[] = [];
  let lookups = 0;
  let rewound = 0;
  const now = (): number => Date.now() + step;
  const loop: DueLoop = startDueTimer({
    now,
    async nextDueAt() {
      lookups++;
      return due.length === 0 ? undefined : Math.min(...due);
    },
    async run(at) {
      const ready = due.filter((time) => time <= at);
      for (const time of ready) {
        due.splice(due.indexOf(time), 1);
        fired.push(time);
      }
      return ready.length;
    },
    async wentBack() {
      rewound++;
    },
    failed: (error) => errors.push(error),
  });
  return {
    loop,
    fired,
    errors,
    asked: () => lookups,
    rewound: () => rewound,
    step: (ms: number) => {
      step += ms;
    },
    due,
  };
}

test("fires at the due time, and notices an added time at once", async () => {
  const first = Date.now() + 60;
  const fake = fakeLoop([first]);
  await until("the first", () => fake.fired.includes(first));
  const second = Date.now() + 30;
  fake.due.push(second);
  fake.loop.poke();
  await until("the second", () => fake.fired.includes(second));
  assert.equal(fake.errors, []);
  await fake.loop.stop();
});

test("queries nothing while nothing is due", async () => {
  const fake = fakeLoop([Date.now() + 3_600_000]);
  await until("the first look", () => fake.asked() > 0);
  const before = fake.asked();
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  assert.is(fake.asked(), before);
  await fake.loop.stop();
});

test("notices a step forward within a second or so, and a step back", async () => {
  const fake = fakeLoop([Date.now() + 3_600_000]);
  await until("the first look", () => fake.asked() > 0);
  fake.step(3_600_000);
  await until("the slot after the step", () => fake.fired.length === 1);
  fake.step(-7_200_000);
  await until("the step back", () => fake.rewound() > 0);
  await fake.loop.stop();
});

test("a failing store is queried again after a pause", async () => {
  const errors: unknown[] = [];
  const loop = startDueTimer({
    now: Date.now,
    nextDueAt: () => Promise.reject(new Error("disk full")),
    run: async () => 0,
    failed: (error) => errors.push(error),
  });
  await until("the second attempt", () => errors.length >= 2);
  assert.ok(errors.length <= 3);
  await loop.stop();
});

test("a burst is claimed ahead: durable before its time, and announced and startable at it", async () => {
  const cron = makeCron("2026-05-01T07:59:59Z");
  const payload = { kind: "systemEvent", text: "x" } as const;
  const schedule = { kind: "cron", expr: "0 8 * * *", tz: "UTC" } as const;
  for (let i = 0; i < 120; i++)
    await cron.jobs.add({ name: `j${i}`, schedule, payload }, "api", "owner");
  await cron.jobs.add(
    { name: "hook", schedule, payload: { kind: "hook", event: "x:y" } },
    "api",
    "owner",
  );
  const moment = Date.parse("2026-05-01T08:00:00Z");
  await cron.runner.foresee(moment + 2_000);
  await until(
    "the burst",
    async () => (await cron.store.items.list({ kind: "wake", limit: 1_000 })).length === 120,
  );
  assert.equal(cron.emitted, [], "nobody hears of it before its time");
  for (const { runAt } of await cron.store.items.list({ kind: "wake", limit: 1_000 }))
    assert.is(runAt, moment);
  cron.jump(moment);
  await until("the announcements", () => cron.emitted.length === 120);
  assert.is(await cron.look(), 1, "the hook's slot is left for its moment");
  assert.equal(await cron.fired("j7"), ["2026-05-01T08:00:00.000Z"]);
  assert.is(await cron.look(), 0);
  await cron.close();
});

test.run();
