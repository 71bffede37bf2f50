import { compile, type PluginContext, type Principal } from "portico";
import { mergePatch } from "portico/schedules";
import { type Jobs, SETTINGS } from "./jobs.ts";
import { checkPayloadModel } from "./firing/payload.ts";
import { type Job, principalOfJob, viewJob, viewRun } from "./job.ts";
import type { Runner } from "./firing/runner.ts";
import { JobChange, NewJob } from "./schema.ts";

const DATES_SHOWN = 5;

interface OperationsOptions {
  ctx: PluginContext;
  jobs: Jobs;
  runner: Runner;
}

/** Creates the operations that the routes and the agent's tool share. */
export function createOperations({ ctx, jobs, runner }: OperationsOptions) {
  const newJob = compile(NewJob);
  const jobChange = compile(JobChange);
  const view = (job: Job, dates?: number) => viewJob(ctx, job, ctx.use("store").now(), dates);
  return {
    list: async () => ({ jobs: (await jobs.list()).map((job) => view(job)) }),
    failing: jobs.failing,
    show: async (id: string) => view(await jobs.find(id), DATES_SHOWN),
    async add(body: unknown, source: "api" | "agent", principal: Principal) {
      const definition = newJob.parse(body);
      await checkPayloadModel(ctx, definition.payload, principal);
      return view(await jobs.add(definition, source, principal), DATES_SHOWN);
    },
    async change(id: string, patch: unknown) {
      const change = mergePatch(jobChange.parse, patch, SETTINGS);
      if (change.payload) {
        const { body } = await jobs.find(id);
        await checkPayloadModel(ctx, change.payload, principalOfJob(body));
      }
      return view(await jobs.change(id, change), DATES_SHOWN);
    },
    async switch(id: string, status: "enabled" | "disabled") {
      // A job that failures disabled may be enabled again, even if the configuration defines it.
      const { state } = await jobs.find(id);
      const mayChangeConfigured = status === "enabled" && state.disabledReason !== undefined;
      return view(await jobs.change(id, { status }, mayChangeConfigured), DATES_SHOWN);
    },
    async remove(id: string) {
      const { row } = await jobs.remove(id);
      return { ok: true, id: row.id, name: row.name };
    },
    /** Removes the jobs of a principal, because the next holder of its name is a different client. */
    async removeAllOf(principal: Principal) {
      const all = await jobs.list();
      const theirs = all.filter(({ body }) => principalOfJob(body) === principal);
      for (const { row } of theirs) await jobs.remove(row.id);
    },
    run: async (id: string) => ({ ok: true, ...(await runner.runNow(() => jobs.find(id))) }),
    runs: async (id: string, limit = 20) => ({ runs: await jobs.history(id, limit, viewRun) }),
  };
}
export type Operations = ReturnType<typeof createOperations>;
