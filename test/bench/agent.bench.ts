/** What a turn costs beside the model: the store, the events, the prompt, the loop. */
import { startGateway } from "../support/gateway.ts";
import { median, percentile } from "./harness/measure.ts";

const TURNS = 200;

export default async function bench() {
  const gateway = await startGateway({ config: { agents: { defaults: { maxConcurrentTurns: 1 } } } });
  const turn = (session: string) => gateway.json("POST", "/agent", { message: "hello", wait: true, session });
  try {
    for (let n = 0; n < 20; n++) await turn("warm");
    const times: number[] = [];
    for (let n = 0; n < TURNS; n++) {
      const began = performance.now();
      await turn(`s${n % 50}`);
      times.push(performance.now() - began);
    }
    return {
      name: "agent",
      figures: [
        { what: "a whole turn over HTTP with echo, median", value: median(times), unit: "ms", limit: 10 },
        { what: "a whole turn over HTTP with echo, 95th percentile", value: percentile(times, 0.95), unit: "ms" },
      ],
    };
  } finally {
    await gateway.stop();
  }
}
