/** Cron's parts on a real store with a clock that the test turns; the agent only makes items and answers for them. */
import { join } from "node:path";
import { openStore } from "../../../plugins/store/open.ts";
import { createJobs } from "../../../plugins/cron/jobs.ts";
import { createOperations } from "../../../plugins/cron/operations.ts";
import { createRunner } from "../../../plugins/cron/firing/runner.ts";
import { createSettler } from "../../../plugins/cron/firing/settle.ts";
import type { Claim } from "../../../plugins/store/types.ts";
import { createContext } from "../../support/plugin-context.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { temporaryDir } from "../../support/temporary.ts";

export function makeCron(
  from: string | number,
  options: { dir?: string; zone?: string; maxErrors?: number } = {},
) {
  const dir = options.dir ?? temporaryDir("portico-cron-");
  let now = typeof from === "number" ? from : Date.parse(from);
  const store = openStore({
    url: `file:${join(dir, "cron.db")}`,
    log: quietLog(),
    clock: () => now,
  });
  const claims: Claim[] = [];
  const { ctx, bus, emitted } = createContext(store);
  const jobs = createJobs({ ctx, zone: () => options.zone ?? "UTC", changed: () => {} });
  const settler = createSettler({
    ctx,
    maxErrors: () => options.maxErrors ?? 10,
    keepRuns: () => 100,
    drop: jobs.drop,
  });
  const runner = createRunner({ ctx, settler });
  const operations = createOperations({ ctx, jobs, runner });
  return {
    dir,
    store,
    ctx,
    bus,
    emitted,
    jobs,
    settler,
    runner,
    operations,
    now: () => now,
    /** Sets the clock without anything looking at it: a sleep, a step, time without a gateway. */
    jump(to: string | number) {
      now = typeof to === "number" ? to : Date.parse(to);
    },
    /** Runs the jobs that are due now once. */
    look: () => runner.runDue(now),
    /** Advances the clock and wakes at each due time, as the loop does. */
    async walk(to: string) {
      const end = Date.parse(to);
      for (;;) {
        const next = await store.schedules.nextDueAt("cron");
        if (next === undefined || next > end) break;
        now = Math.max(now, next);
        if ((await runner.runDue(now)) === 0) throw new Error("no progress");
      }
      now = end;
    },
    /** The fired slots, oldest first: ISO times by job name. */
    async fired(name: string, status?: string): Promise<string[]> {
      const { runs } = await operations.runs(name, 1000);
      const matching = runs.filter((run) =>
        status === undefined
          ? !["missed", "skipped"].includes(run["status"] as string)
          : run["status"] === status,
      );
      return matching.map((run) => run["scheduledAt"] as string).reverse();
    },
    /** Ends a turn as the agent's worker would, by default the one that waits for the longest time. */
    async finishTurn(outcome: "done" | "dead", turnId?: string) {
      claims.push(...(await store.claim("test", 100, 86_400_000, ["turn"])));
      const claim = claims.find(({ item }) => turnId === undefined || item.id === turnId);
      if (!claim) throw new Error("no turn waits");
      claims.splice(claims.indexOf(claim), 1);
      const ended =
        outcome === "done"
          ? { state: "done" as const, result: "fine" }
          : { state: "dead" as const, error: { code: "upstream_error", message: "boom" } };
      await store.finish(claim, ended);
      await settler.settleTurn(claim.item.id);
      return claim.item.id;
    },
    close: () => store.close(),
  };
}
