/**
 * How soon two workers answer again after one of them was killed. Where the machine has other work, the second figure says
 * what the replacement takes by itself: without the time for which it waited for a core.
 */
import { readFileSync } from "node:fs";
import { chat } from "../../plugins/cluster/scene.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { type BuiltGateway, build, end, startBuilt } from "../harness/built.ts";
import { median } from "../harness/measure.ts";
import type { Bench } from "../run.ts";

const ROUNDS = 8;
/** Between two kills: what a start leaves to be done is done. */
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
    let pids = await bothOf(gateway);
    for (let round = 0; round < ROUNDS; round++) {
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      const [killed, other] = pids as [number, number];
      const began = performance.now();
      process.kill(killed, "SIGKILL");
      const next = await bothOf(gateway, killed);
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

/** The processes that answer, once there are two: each request comes over a new connection, and these are handed out in turn. */
async function bothOf({ port, token }: BuiltGateway, dead?: number): Promise<number[]> {
  const seen = new Set<number>();
  while (seen.size < 2) {
    // what a worker was asked as it died fails
    const answer = await chat({ url: `http://127.0.0.1:${port}`, token }, "echo").catch(
      () => undefined,
    );
    const pid = Number(answer?.json?.choices?.[0].message.content);
    if (pid > 0 && pid !== dead) seen.add(pid);
  }
  return [...seen];
}

/** For a core, in its main thread: 0 where the system does not say. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
