import { type PluginContext, type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";
import { mountScheduleRoutes } from "portico/schedules";
import type { Operations } from "./operations.ts";
import { NewPoll, POLLS } from "./schema.ts";

/** The routes exist below `/polls`, and also below `/polls/jobs`, in analogy to `/cron/jobs`. */
const ROOTS = ["/polls/jobs", "/polls"] as const;

const Trial = Type.Object({
  status: Type.Union([Type.String(), Type.Integer()]),
  count: Type.Integer(),
  news: Type.Array(Type.Unknown()),
  sample: Type.Array(Type.Unknown()),
  wouldSend: Type.Union([Type.String(), AnyObject, Type.Null()]),
});

const testNew = {
  access: "gateway",
  summary: "Test a poll without saving it: show what a check would find and send",
  changes: false,
  body: NewPoll,
  // The operations validate the body, because the agent's tool uses the same ones.
  checkedBy: "handler",
  response: jsonResponse(Trial),
} as const satisfies RouteOptions;

const testExisting = {
  access: "gateway",
  summary: "Show what a check of a poll would find and send now",
  changes: false,
  body: null,
  response: jsonResponse(Trial),
} as const satisfies RouteOptions;

export function mountRoutes(ctx: PluginContext, operations: () => Promise<Operations>): void {
  for (const root of ROOTS) {
    mountScheduleRoutes(ctx, root, POLLS, operations);
    ctx.route("POST", `${root}/test`, testNew, async (call) =>
      (await operations()).test(await call.json()),
    );
    ctx.route("POST", `${root}/:id/test`, testExisting, async ({ params }) =>
      (await operations()).testExisting(params["id"]!),
    );
  }
}
