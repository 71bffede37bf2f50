/**
 * Measures the costs of 10,000 jobs and 1,000 polls in one gateway at start and at rest, and the delay of a thousand jobs
 * that are due at once.
 */
import {
  CRON_CONFIG,
  JOBS,
  POLLS,
  SIMULTANEOUS_JOBS,
  fireTogether,
  idleCpu,
  createEntries,
  startCopy,
} from "./compare/areas/cron.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { median, percentile } from "./harness/measure.ts";
import type { Bench } from "./run.ts";

const STARTS = 5;

export default async function cron(): Promise<Bench> {
  build();
  const [empty, full] = [
    await startBuilt({ config: CRON_CONFIG }),
    await startBuilt({ config: CRON_CONFIG }),
  ];
  try {
    await createEntries(full);
    const starts = { empty: [] as number[], full: [] as number[] };
    for (let i = 0; i < STARTS; i++) {
      starts.empty.push((await startCopy(empty)).ms);
      starts.full.push((await startCopy(full)).ms);
    }
    const rest = await idleCpu(full);
    const { late } = await fireTogether(full);
    const added = median(starts.full) - median(starts.empty);
    return {
      name: "cron and polls",
      figures: [
        {
          what: `start with ${JOBS} jobs and ${POLLS} polls, above an empty one`,
          value: added,
          unit: "ms",
          limit: 300,
        },
        {
          what: `CPU at rest with ${JOBS} jobs and ${POLLS} polls`,
          value: rest,
          unit: "%",
          limit: 1,
        },
        {
          what: `${SIMULTANEOUS_JOBS} jobs due at once: late, 50th percentile`,
          value: median(late),
          unit: "ms",
        },
        {
          what: `${SIMULTANEOUS_JOBS} jobs due at once: late, 99th percentile`,
          value: percentile(late, 0.99),
          unit: "ms",
          limit: 100,
        },
      ],
    };
  } finally {
    await Promise.all([empty, full].map((gateway) => end(gateway.process)));
  }
}
