/** Refused attempts without credentials: equal ones share one entry per minute, however many arrive at once. */
import * as assert from "uvu/assert";
import type { NewEntry } from "../../../plugins/audit/entry.ts";
import { RefusedAttempts } from "../../../plugins/audit/refused.ts";
import type { Trail } from "../../../plugins/audit/trail.ts";
import { suite } from "../../support/suite.ts";

const test = suite("refused attempts");

test("simultaneous attempts at the turn of a minute share one entry", async () => {
  const counts = new Map<string, number | undefined>();
  let now = 0;
  const trail = {
    now: () => now,
    async add({ count }: NewEntry, { id }: { id: string }) {
      await new Promise(setImmediate);
      counts.set(id, count);
    },
  } as unknown as Trail;
  const attempts = new RefusedAttempts(trail);
  const entry: NewEntry = {
    outcome: "refused",
    principal: "outside",
    via: "http",
    action: "DELETE /keys/:name",
    changes: [],
  };
  for (let minute = 0; minute < 2; minute++) {
    now = minute * 60_000;
    await Promise.all(Array.from({ length: 10 }, () => attempts.add(entry)));
  }
  await attempts.flush();
  assert.equal([...counts.values()], [10, 10]);
});

test.run();
