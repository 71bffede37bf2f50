/** Works a little at a time: as much as a start, which is long on a busy machine, and then as its first requests. */
import { getHeapSpaceStatistics } from "node:v8";
import { holdEngine, letEngineGoAtWork } from "../../../kernel/home/engine.ts";
import { until } from "../../support/until.ts";

const START_MICROS = 150_000;
const micros = () => process.cpuUsage().user + process.cpuUsage().system;
const young = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
const kept: object[][] = [];

/** More than an idle gateway does in that time. What it makes outlives the next collection, as that of requests does. */
async function workALittle(): Promise<void> {
  const end = micros() + 15_000;
  for (let i = 0; micros() < end; i++)
    kept[i % 50] = Array.from({ length: 500 }, () => ({ made: i }));
  await new Promise((resolve) => setTimeout(resolve, 60));
}

holdEngine();
await workALittle();
const held = young();
const isAtWork = () => young() > held;
const before = micros();
while (micros() - before < START_MICROS) await workALittle();
console.log(isAtWork() ? "at work" : "held");
letEngineGoAtWork();
const started = micros();
await until("work to be seen", async () => {
  await workALittle();
  return isAtWork();
});
console.log(micros() - started < START_MICROS ? "at work" : "late");
