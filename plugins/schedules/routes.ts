import { type Mount, type Principal, principalOf } from "portico";
import { limitIn } from "portico/strings";
import { describeScheduleRoutes, type ScheduleKind } from "./routes-schema.ts";

/** What can be done with the schedules of one kind; answers are sent as JSON. */
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

/** `GET` and `POST` on `root`; `GET`, `PATCH` and `DELETE` on `root/:id`; `run`, `enable`, `disable`, `runs` below it. */
export function mountScheduleRoutes(
  mount: Mount,
  root: string,
  kind: ScheduleKind,
  operations: () => Promise<ScheduleOperations>,
): void {
  const declared = describeScheduleRoutes(kind);
  const at = `${root}/:id`;
  mount.route("GET", root, declared.list, async () => (await operations()).list());
  mount.route("POST", root, declared.add, async (call) =>
    (await operations()).add(await call.json(), "api", principalOf(call.client)),
  );
  mount.route("GET", at, declared.show, async ({ params }) =>
    (await operations()).show(params["id"]!),
  );
  mount.route("PATCH", at, declared.change, async (call) =>
    (await operations()).change(call.params["id"]!, await call.json()),
  );
  mount.route("DELETE", at, declared.remove, async ({ params }) =>
    (await operations()).remove(params["id"]!),
  );
  mount.route("POST", `${at}/run`, declared.run, async ({ params }) =>
    (await operations()).run(params["id"]!),
  );
  mount.route("POST", `${at}/enable`, declared.enable, async ({ params }) =>
    (await operations()).switch(params["id"]!, "enabled"),
  );
  mount.route("POST", `${at}/disable`, declared.disable, async ({ params }) =>
    (await operations()).switch(params["id"]!, "disabled"),
  );
  mount.route("GET", `${at}/runs`, declared.runs, async ({ params, query }) =>
    (await operations()).runs(params["id"]!, limitIn(query, 20)),
  );
}
