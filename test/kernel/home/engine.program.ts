/** Works a little between any two looks: as much as a start, which is long on a busy machine, and then as its first requests. */
import { holdEngine, letEngineGoAtWork } from "../../../kernel/home/engine.ts";
import { until } from "../../support/until.ts";

const SHARED = Symbol.for("portico.engine");
const isAtWork = () => (process as { [SHARED]?: { observes?: boolean } })[SHARED]?.observes === true;
const START_MICROS = 150_000;
const micros = () => process.cpuUsage().user + process.cpuUsage().system;
/** More than an idle gateway does between two looks. */
async function workALittle(): Promise<void> {
  const end = micros() + 15_000;
  while (micros() < end);
  await new Promise((resolve) => setTimeout(resolve, 60));
}

holdEngine();
await new Promise((resolve) => setTimeout(resolve, 150));
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
