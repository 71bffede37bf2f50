import type { PluginContext } from "portico";
import type { Operations } from "./operations.ts";

/** `/polls`, and the same as cron's jobs below `/polls/jobs`. */
const ROOTS = ["/polls/jobs", "/polls"] as const;

export function mountRoutes(ctx: PluginContext, operations: () => Promise<Operations>): void {
  const access = { access: "gateway" } as const;
  for (const root of ROOTS) {
    const at = `${root}/:id`;
    ctx.route("GET", root, access, async () => (await operations()).list());
    ctx.route("POST", root, access, async (call) => (await operations()).add(await call.json(), "api"));
    ctx.route("POST", `${root}/test`, access, async (call) => (await operations()).test(await call.json()));
    ctx.route("GET", at, access, async ({ params }) => (await operations()).show(params["id"]!));
    ctx.route("PATCH", at, access, async (call) => (await operations()).change(call.params["id"]!, await call.json()));
    ctx.route("DELETE", at, access, async ({ params }) => (await operations()).remove(params["id"]!));
    ctx.route("POST", `${at}/run`, access, async ({ params }) => (await operations()).run(params["id"]!));
    ctx.route("POST", `${at}/test`, access, async ({ params }) => (await operations()).testExisting(params["id"]!));
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
}
