/** Reads a trail page by page, over a store with a trail page. */
import * as assert from "uvu/assert";
import { Trail } from "../../../plugins/audit/trail.ts";
import type { NewEntry } from "../../../plugins/audit/entry.ts";
import type { Run, Store } from "../../../plugins/store/index.ts";
import { test } from "../../support/suite.ts";

function memoryStore(): Store {
  const runs: Run[] = [];
  return {
    now: () => 1_000,
    runs: {
      prune: async () => 0,
      put: async (run: Run) => void runs.push(run),
      list: async ({
        owner,
        limit,
        before = Infinity,
      }: {
        owner: string;
        limit: number;
        before?: number;
      }) =>
        runs
          .filter((run) => run.owner === owner && run.at < before)
          .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
          .slice(0, limit),
    },
  } as unknown as Store;
}

test("each entry is read once if more entries share one time than fit on a page", async () => {
  const store = memoryStore();
  const trail = new Trail(
    () => store,
    () => ({ keep: 10_000, keepDays: 1 }),
  );
  const entry = { principal: "owner", outcome: "made" } as NewEntry;
  for (const at of [1, 2, 3])
    for (let n = 0; n < 700; n++) await trail.add(entry, { id: `aud_${at}_${n}`, at });
  const ids = new Set<string>();
  let count = 0;
  for await (const { id } of trail.newest(undefined)) {
    ids.add(id);
    count++;
  }
  assert.equal([ids.size, count], [2100, 2100]);
});

test.run();
