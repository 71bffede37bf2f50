import { type Mount, type Principal, principalOf } from "portico";
import { limitIn } from "portico/strings";

/** What can be done with the schedules of one kind; answers are sent as JSON. */
export interface ScheduleOperations {
  list(): Promise<unknown>;
  show(id: string): Promise<unknown>;
  add(given: unknown, origin: "api", principal: Principal): Promise<unknown>;
  change(id: string, given: unknown): Promise<unknown>;
  switch(id: string, status: "enabled" | "disabled"): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  run(id: string): Promise<unknown>;
  runs(id: string, limit: number): Promise<unknown>;
}

/** `GET` and `POST` on `root`; `GET`, `PATCH` and `DELETE` on `root/:id`; `run`, `enable`, `disable`, `runs` below it. */
export function mountScheduleRoutes(
  mount: Mount,
  root: string,
  operations: () => Promise<ScheduleOperations>,
): void {
  const access = { access: "gateway" } as const;
  const at = `${root}/:id`;
  mount.route("GET", root, access, async () => (await operations()).list());
  mount.route("POST", root, access, async (call) =>
    (await operations()).add(await call.json(), "api", principalOf(call.client)),
  );
  mount.route("GET", at, access, async ({ params }) => (await operations()).show(params["id"]!));
  mount.route("PATCH", at, access, async (call) =>
    (await operations()).change(call.params["id"]!, await call.json()),
  );
  mount.route("DELETE", at, access, async ({ params }) =>
    (await operations()).remove(params["id"]!),
  );
  mount.route("POST", `${at}/run`, access, async ({ params }) =>
    (await operations()).run(params["id"]!),
  );
  mount.route("POST", `${at}/enable`, access, async ({ params }) =>
    (await operations()).switch(params["id"]!, "enabled"),
  );
  mount.route("POST", `${at}/disable`, access, async ({ params }) =>
    (await operations()).switch(params["id"]!, "disabled"),
  );
  mount.route("GET", `${at}/runs`, access, async ({ params, query }) =>
    (await operations()).runs(params["id"]!, limitIn(query, 20)),
  );
}
