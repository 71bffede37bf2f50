/** A gateway that is killed and started again: no slot fires twice, none is lost beyond its policy, run-once catches up. */
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { quietLog } from "../../support/quiet-log.ts";

const text = { kind: "systemEvent", text: "x" };
const KILLS = 4;

test("killed over and over", async () => {
  const home = makeHome();
  let gateway: SpawnedGateway | undefined;
  try {
    gateway = await spawnGateway({ home, config: {} });
    for (let i = 0; i < 5; i++) {
      await gateway.json("POST", "/cron/jobs", {
        name: `j${i}`,
        schedule: { kind: "every", everyMs: 250 },
        payload: text,
      });
    }
    // After the first kill, also where the three requests before it take their time.
    const soon = new Date(Date.now() + 4_000).toISOString();
    // However long the machine takes for all kills and starts.
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await gateway.json("POST", "/cron/jobs", {
      name: "caught-up",
      schedule: { kind: "at", at: soon },
      payload: text,
      missed: "run-once",
    });
    await gateway.json("POST", "/cron/jobs", {
      name: "swallowed",
      schedule: { kind: "at", at: soon },
      payload: text,
      missed: "skip",
      graceMs: 0,
    });
    await gateway.json("POST", "/cron/jobs", { name: "to-come", schedule: { kind: "at", at: later }, payload: text });
    for (let kill = 0; kill < KILLS; kill++) {
      const running: SpawnedGateway = gateway;
      if (kill > 0)
        await until(
          "some runs",
          async () => ((await running.json("GET", "/cron/jobs/j0")).state.runs as number) > kill * 2,
        );
      await running.kill("SIGKILL");
      if (kill === 0)
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, Date.parse(soon) + 100 - Date.now())));
      gateway = await spawnGateway({ home });
    }
    const last: SpawnedGateway = gateway;
    await until("the late one", async () => (await last.json("GET", "/cron/jobs/caught-up")).status === "disabled");
    assert.equal(
      (await last.json("GET", "/cron/jobs/caught-up/runs")).runs.map((run: { status: string; scheduledAt: string }) => [
        run.status,
        run.scheduledAt,
      ]),
      [["ok", soon]],
    );
    assert.equal(
      (await last.json("GET", "/cron/jobs/swallowed/runs")).runs.map((run: { status: string }) => run.status),
      ["missed"],
    );
    assert.is((await last.json("GET", "/cron/jobs/to-come")).state.nextRunAt, later);
    await last.kill("SIGKILL");
    gateway = undefined;

    const store = openStore({ url: `file:${join(home, "state", "portico.db")}`, log: quietLog() });
    const queued = new Set((await store.items.list({ kind: "wake", limit: 1_000 })).map(({ id }) => id));
    let fired = 0;
    for (const { id } of await store.schedules.list("cron")) {
      const runs = (await store.runs.list({ owner: `cron:${id}`, limit: 1_000 })).filter(
        ({ status }) => status === "ok",
      );
      const slots = runs.map(({ data }) => (data as { slotAt: number }).slotAt);
      assert.is(new Set(slots).size, slots.length, "no slot twice");
      for (const { itemId } of runs) assert.ok(queued.delete(itemId!), "each run has its event");
      fired += runs.length;
    }
    assert.is(queued.size, 0, "no event without its run");
    // So many were waited for, of one job alone.
    assert.ok(fired > (KILLS - 1) * 2, `${fired} runs`);
    await store.close();
  } finally {
    await gateway?.kill("SIGKILL");
  }
});

test.run();
