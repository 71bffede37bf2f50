import type { PluginContext } from "portico";
import type { Operations } from "./operations.ts";

export function mountRoutes(ctx: PluginContext, operations: () => Promise<Operations>): void {
  const access = { access: "gateway" } as const;
  const at = "/cron/jobs/:id";
  ctx.route("GET", "/cron/jobs", access, async () => (await operations()).list());
  ctx.route("POST", "/cron/jobs", access, async (call) => (await operations()).add(await call.json(), "api"));
  ctx.route("GET", at, access, async ({ params }) => (await operations()).show(params["id"]!));
  ctx.route("PATCH", at, access, async (call) => (await operations()).change(call.params["id"]!, await call.json()));
  ctx.route("DELETE", at, access, async ({ params }) => (await operations()).remove(params["id"]!));
  ctx.route("POST", `${at}/run`, access, async ({ params }) => (await operations()).run(params["id"]!));
  ctx.route("POST", `${at}/enable`, access, async ({ params }) =>
    (await operations()).switch(params["id"]!, "enabled"),
  );
  ctx.route("POST", `${at}/disable`, access, async ({ params }) =>
    (await operations()).switch(params["id"]!, "disabled"),
  );
  ctx.route("GET", `${at}/runs`, access, async ({ params, query }) =>
    (await operations()).runs(params["id"]!, query.get("limit")),
  );
}
