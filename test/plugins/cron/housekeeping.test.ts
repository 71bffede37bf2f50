/** In a file of its own: the clock is turned for everything in the process. */
import { mock } from "node:test";
import * as assert from "uvu/assert";
import { startHousekeeping } from "../../../plugins/cron/firing/housekeeping.ts";
import { test } from "../../support/suite.ts";
import { createContext } from "../../support/plugin-context.ts";
import { temporaryStore } from "../store/temporary-store.ts";

test("the history of each job is trimmed to its limit once an hour", async () => {
  const t = temporaryStore();
  const { store } = t;
  const { ctx } = createContext(store);
  await store.schedules.put({ kind: "cron", id: "j", enabled: true, nextAt: 5, body: {} });
  for (let n = 0; n < 5; n++)
    await store.runs.put({ id: `r${n}`, owner: "cron:j", at: n, status: "ok", data: {} });
  const cut = new Promise<number>((resolve) => {
    const { prune } = store.runs;
    store.runs.prune = async (...args) => {
      const count = await prune(...args);
      resolve(count);
      return count;
    };
  });
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.parse("2026-05-01T08:00:00Z") });
  const stop = startHousekeeping(ctx, () => 2);
  for (let minute = 0; minute < 61; minute++) mock.timers.tick(60_000);
  mock.timers.reset();
  assert.is(await cut, 3);
  await stop();
  await t.remove();
});

test.run();
