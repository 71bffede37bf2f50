/** The process that `crash.test.ts` kills: checks one poll without a pause. */
import { openStore } from "../../../plugins/store/open.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { makePolls } from "./fake-polls.ts";

const [file = "", url = ""] = process.argv.slice(2);
const store = openStore({ url: `file:${file}`, log: quietLog() });
const { entries, runner } = await makePolls(store, process.cwd());
if ((await entries.schedules.list()).length === 0) {
  const source = { kind: "json" as const, url, key: "id" };
  await entries.add(
    { name: "grows", every: "1h", source, payload: { kind: "systemEvent", text: "{item.id}" } },
    "api",
    "owner",
  );
}
await entries.freeLeases(await entries.schedules.list());
process.send?.("ready");
for (;;) await runner.runNow(() => entries.schedules.find("grows"));
