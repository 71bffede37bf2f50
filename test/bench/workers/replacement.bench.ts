/**
 * Measures the time until two workers answer again after one of them was killed. The second figure excludes the time for
 * which the replacement waited for a core on a busy machine.
 */
import { readFileSync } from "node:fs";
import { chat } from "../../plugins/cluster/scene.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { type BuiltGateway, build, end, startBuilt } from "../harness/built.ts";
import { median } from "../harness/measure.ts";
import type { Bench } from "../run.ts";

const ROUNDS = 8;
/** The pause between two kills, in which a worker completes its start. */
const REST_MS = 1000;
const LIMIT_MS = 1000;

export default async function bench(): Promise<Bench> {
  build();
  const gateway = await startBuilt({
    config: { gateway: { port: 0, workers: 2 } },
    files: hookFiles("who", "return { reply: `${process.pid}` };"),
  });
  try {
    const whole: number[] = [];
    const running: number[] = [];
    let pids = await findWorkers(gateway);
    for (let round = 0; round < ROUNDS; round++) {
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      const [killed, other] = pids as [number, number];
      const began = performance.now();
      process.kill(killed, "SIGKILL");
      const next = await findWorkers(gateway, killed);
      const ms = performance.now() - began;
      const fresh = next.find((pid) => pid !== other)!;
      whole.push(ms);
      running.push(ms - waitedMs(fresh));
      pids = [other, fresh];
    }
    return {
      name: "a killed worker's replacement",
      figures: [
        { what: "both answer again after", value: median(whole), unit: "ms", limit: LIMIT_MS },
        { what: "the same, less its waiting for a core", value: median(running), unit: "ms" },
      ],
    };
  } finally {
    await end(gateway.process);
  }
}

/**
 * Returns the processes that answer, when there are two. Each request uses a new connection, which go to the workers in
 * turn.
 */
async function findWorkers({ port, token }: BuiltGateway, dead?: number): Promise<number[]> {
  const pids = new Set<number>();
  while (pids.size < 2) {
    // a request to a dying worker fails
    const answer = await chat({ url: `http://127.0.0.1:${port}`, token }, "echo").catch(
      () => undefined,
    );
    const pid = Number(answer?.json?.choices?.[0].message.content);
    if (pid > 0 && pid !== dead) pids.add(pid);
  }
  return [...pids];
}

/** Returns the time for which the main thread waited for a core, or 0 if the system does not report it. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
