import { type Mount, type Principal, principalOf } from "portico";
import { limitIn } from "portico/strings";
import { describeScheduleRoutes, type ScheduleKind } from "./routes-schema.ts";

/** The operations on the schedules of one kind. Their results are sent as JSON. */
export interface ScheduleOperations {
  list(): Promise<unknown>;
  show(id: string): Promise<unknown>;
  add(body: unknown, origin: "api", principal: Principal): Promise<unknown>;
  change(id: string, patch: unknown): Promise<unknown>;
  switch(id: string, status: "enabled" | "disabled"): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  run(id: string): Promise<unknown>;
  runs(id: string, limit: number): Promise<unknown>;
}

/**
 * Mounts `GET` and `POST` on `root`; `GET`, `PATCH` and `DELETE` on `root/:id`; `run`, `enable`, `disable` and `runs`
 * below it.
 */
export function mountScheduleRoutes(
  mount: Mount,
  root: string,
  kind: ScheduleKind,
  operations: () => Promise<ScheduleOperations>,
): void {
  const routes = describeScheduleRoutes(kind);
  const entryPath = `${root}/:id`;
  mount.route("GET", root, routes.list, async () => (await operations()).list());
  mount.route("POST", root, routes.add, async (call) =>
    (await operations()).add(await call.json(), "api", principalOf(call.client)),
  );
  mount.route("GET", entryPath, routes.show, async ({ params }) =>
    (await operations()).show(params["id"]!),
  );
  mount.route("PATCH", entryPath, routes.change, async (call) =>
    (await operations()).change(call.params["id"]!, await call.json()),
  );
  mount.route("DELETE", entryPath, routes.remove, async ({ params }) =>
    (await operations()).remove(params["id"]!),
  );
  mount.route("POST", `${entryPath}/run`, routes.run, async ({ params }) =>
    (await operations()).run(params["id"]!),
  );
  mount.route("POST", `${entryPath}/enable`, routes.enable, async ({ params }) =>
    (await operations()).switch(params["id"]!, "enabled"),
  );
  mount.route("POST", `${entryPath}/disable`, routes.disable, async ({ params }) =>
    (await operations()).switch(params["id"]!, "disabled"),
  );
  mount.route("GET", `${entryPath}/runs`, routes.runs, async ({ params, query }) =>
    (await operations()).runs(params["id"]!, limitIn(query, 20)),
  );
}
