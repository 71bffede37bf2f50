/** The lease of a check ends with the check, also where the store fails in the middle of it. */
import * as assert from "uvu/assert";
import type { Store } from "../../../plugins/store/types.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { temporaryStore } from "../store/temporary-store.ts";
import { makePolls } from "./fake-polls.ts";

test("a poll whose check could not read its cursor is checked again after its lease", async () => {
  const temporary = temporaryStore();
  // Leases are renewed in real time.
  Object.defineProperty(temporary.clock, "now", { get: Date.now });
  const { store: real } = temporary;
  let failures = 0;
  const schedules: Store["schedules"] = {
    ...real.schedules,
    async cursor(kind, id) {
      if (failures++ === 0) throw new Error("the disk is gone for a moment");
      return real.schedules.cursor(kind, id);
    },
  };
  const store = { ...real, schedules };
  try {
    const { entries, runner } = await makePolls(store, temporary.dir, { leaseMs: 1_500 });
    const source = { kind: "file" as const, path: "." };
    const { row } = await entries.add({ name: "p", every: "1h", source }, "api", "owner");
    assert.is(await runner.runDue(store.now()), 1);
    await runner.idle();
    const { state } = await until("the next check", async () => {
      await runner.runDue(store.now());
      await runner.idle();
      const poll = await entries.schedules.find(row.id);
      return poll.state.checks > 0 ? poll : undefined;
    });
    assert.equal([state.lastStatus, failures], ["baseline", 2]);
  } finally {
    await temporary.remove();
  }
});

test.run();
