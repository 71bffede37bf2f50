import { compile, type PluginContext } from "portico";
import type { JobBook } from "./book.ts";
import { viewJob, viewRun } from "./job.ts";
import type { Runner } from "./firing/runner.ts";
import { JobChange, NewJob } from "./schema.ts";

const DATES_SHOWN = 5;

export interface Parts {
  ctx: PluginContext;
  book: JobBook;
  runner: Runner;
}

/** What the routes, the agent's tool and the command line all do. */
export function createOperations({ ctx, book, runner }: Parts) {
  const newJob = compile(NewJob);
  const jobChange = compile(JobChange);
  const now = (): number => ctx.use("store").now();
  return {
    list: async () => ({ jobs: (await book.list()).map((job) => viewJob(job, now())) }),
    show: async (id: string) => viewJob(await book.find(id), now(), DATES_SHOWN),
    add: async (given: unknown, source: "api" | "agent") =>
      viewJob(await book.add(newJob.parse(given), source), now(), DATES_SHOWN),
    change: async (id: string, given: unknown) =>
      viewJob(await book.change(id, jobChange.parse(given)), now(), DATES_SHOWN),
    async switch(id: string, status: "enabled" | "disabled") {
      // What disabled itself may be enabled again, wherever it is written down.
      const { state } = await book.find(id);
      const allowed = status === "enabled" && state.disabledReason !== undefined;
      return viewJob(await book.change(id, { status }, allowed), now(), DATES_SHOWN);
    },
    async remove(id: string) {
      const { row } = await book.remove(id);
      return { ok: true, id: row.id, name: row.name };
    },
    run: async (id: string) => ({ ok: true, ...(await runner.runNow(() => book.find(id))) }),
    runs: async (id: string, limit: string | null) => ({ runs: await book.history(id, limit, viewRun) }),
  };
}
export type Operations = ReturnType<typeof createOperations>;
