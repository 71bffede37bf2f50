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

test("repeated kills", async () => {
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
    // However long the machine takes for all kills and starts.
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await gateway.json("POST", "/cron/jobs", {
      name: "to-come",
      schedule: { kind: "at", at: later },
      payload: text,
    });
    // Due after the first kill: where the machine took longer for it, others are, of the next attempt.
    let soon = "";
    let attempt = 0;
    do {
      if (attempt++ > 0) gateway = await spawnGateway({ home });
      soon = new Date(Date.now() + attempt * 2_000).toISOString();
      const schedule = { kind: "at", at: soon };
      for (const late of [
        { name: `caught-up-${attempt}`, missed: "run-once" },
        { name: `swallowed-${attempt}`, missed: "skip", graceMs: 0 },
      ])
        await gateway.request("POST", "/cron/jobs", { ...late, schedule, payload: text });
      await gateway.kill("SIGKILL");
    } while (Date.now() >= Date.parse(soon));
    await new Promise((resolve) => setTimeout(resolve, Date.parse(soon) + 100 - Date.now()));
    for (let kill = 1; kill < KILLS; kill++) {
      const running = await spawnGateway({ home });
      gateway = running;
      await until(
        "some runs",
        async () => ((await running.json("GET", "/cron/jobs/j0")).state.runs as number) > kill * 2,
      );
      await running.kill("SIGKILL");
    }
    gateway = await spawnGateway({ home });
    const last: SpawnedGateway = gateway;
    await until(
      "the late one",
      async () => (await last.json("GET", `/cron/jobs/caught-up-${attempt}`)).status === "disabled",
    );
    assert.equal(
      (await last.json("GET", `/cron/jobs/caught-up-${attempt}/runs`)).runs.map(
        (run: { status: string; scheduledAt: string }) => [run.status, run.scheduledAt],
      ),
      [["ok", soon]],
    );
    assert.equal(
      (await last.json("GET", `/cron/jobs/swallowed-${attempt}/runs`)).runs.map(
        (run: { status: string }) => run.status,
      ),
      ["missed"],
    );
    assert.is((await last.json("GET", "/cron/jobs/to-come")).state.nextRunAt, later);
    await last.kill("SIGKILL");
    gateway = undefined;

    const store = openStore({ url: `file:${join(home, "state", "portico.db")}`, log: quietLog() });
    const queued = new Set(
      (await store.items.list({ kind: "wake", limit: 1_000 })).map(({ id }) => id),
    );
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
