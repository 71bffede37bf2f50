import type { PluginContext } from "portico";
import { mountScheduleRoutes } from "portico/schedules";
import type { Operations } from "./operations.ts";

/** `/polls`, and the same as cron's jobs below `/polls/jobs`. */
const ROOTS = ["/polls/jobs", "/polls"] as const;

export function mountRoutes(ctx: PluginContext, operations: () => Promise<Operations>): void {
  const access = { access: "gateway" } as const;
  for (const root of ROOTS) {
    mountScheduleRoutes(ctx, root, operations);
    ctx.route("POST", `${root}/test`, access, async (call) =>
      (await operations()).test(await call.json()),
    );
    ctx.route("POST", `${root}/:id/test`, access, async ({ params }) =>
      (await operations()).testExisting(params["id"]!),
    );
  }
}
