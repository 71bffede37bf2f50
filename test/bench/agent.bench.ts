/** Measures the cost of a turn without the model: the store, the events, the prompt, the loop. */
import { TURN_CONFIG, turns } from "./compare/areas/agent.ts";
import type { Reading } from "./compare/area.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { median } from "./harness/measure.ts";
import type { Bench } from "./run.ts";

const ROUNDS = 5;

export default async function bench(): Promise<Bench> {
  build();
  const gateway = await startBuilt({ config: TURN_CONFIG });
  try {
    await turns(gateway, 1);
    const readings: Reading[] = [];
    for (let round = 0; round < ROUNDS; round++) readings.push(await turns(gateway, 1));
    const medianOf = (figure: string) => median(readings.map((reading) => reading[figure]!));
    return {
      name: "agent",
      figures: [
        {
          what: "a whole turn over HTTP with echo, median",
          value: medianOf("p50 ms"),
          unit: "ms",
          limit: 10,
        },
        {
          what: "a whole turn over HTTP with echo, 95th percentile",
          value: medianOf("p95 ms"),
          unit: "ms",
        },
        {
          what: "a whole turn over HTTP with echo, CPU",
          value: medianOf("CPU µs/turn"),
          unit: "µs",
        },
      ],
    };
  } finally {
    await end(gateway.process);
  }
}
