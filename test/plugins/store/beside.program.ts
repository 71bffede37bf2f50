/** Fills a store in the directory it is given, and writes while the store is copied and checked; says what it wrote beside. */
import { join } from "node:path";
import { openStore } from "../../../plugins/store/open.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { until } from "../../support/until.ts";
import { fill } from "./temporary-store.ts";

const [, , dir = ""] = process.argv;
const store = openStore({ url: `file:${join(dir, "beside.db")}`, log: quietLog() });
let copies = 0;
const works = {
  backup: () => store.backup(join(dir, `copy${++copies}.db`)),
  check: () => store.check(),
};

await fill(store);
for (const [name, work] of Object.entries(works)) {
  // Who waits for the whole work always does; but the work may be over before anybody else has had a turn on the core.
  await until(`a write while there is a ${name}`, async () => {
    let isRunning = true;
    const done = work().finally(() => {
      isRunning = false;
    });
    // Two: a commit for one alone may be done on this thread.
    await Promise.all([store.kv.set("n", "k", 1), store.kv.set("n", "other", 1)]);
    const isBeside = isRunning;
    await done;
    return isBeside;
  });
  console.log(name);
}
await store.close();
