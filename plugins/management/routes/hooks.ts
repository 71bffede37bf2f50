/** `/kernel/hooks`: the management of hooks over HTTP. */
import type { Call, Management, Mount, Static } from "portico";
import { limitIn } from "portico/strings";
import type { AllWorkers } from "../all-workers.ts";
import { checkHook } from "../hooks/check.ts";
import { runHook } from "../hooks/run.ts";
import { hookRoutes, type runBody } from "./routes-schema.ts";

/** Mounts the routes. All of them require the gateway's own token. */
export function mountHookRoutes(mount: Mount, gateway: Management, allWorkers: AllWorkers): void {
  const host = gateway.hooks;
  mount.route("GET", "/kernel/hooks", hookRoutes.list, async () => ({
    hooks: await allWorkers.hooks(),
    roots: host.roots().map(({ name, dir }) => ({ name, dir })),
  }));
  mount.route("POST", "/kernel/hooks/rescan", hookRoutes.rescan, async () => {
    await allWorkers.act("hooks.rescan");
    return { hooks: await allWorkers.hooks() };
  });
  mount.route("POST", "/kernel/hooks/reload", hookRoutes.reloadAll, async () => {
    await allWorkers.act("hooks.reload");
    return { hooks: await allWorkers.hooks() };
  });
  mountActions(mount, allWorkers);
  mountOneHook(mount, gateway, allWorkers);
}

/** Actions on one hook that run in all workers. */
const ACTIONS = ["enable", "disable", "approve", "reload"] as const;

function mountActions(mount: Mount, allWorkers: AllWorkers): void {
  for (const action of ACTIONS)
    mount.route("POST", `/kernel/hooks/:name/${action}`, hookRoutes[action], async (call) => {
      const name = nameOf(call);
      await allWorkers.act(`hooks.${action}`, name);
      return allWorkers.hook(name);
    });
}

function mountOneHook(mount: Mount, gateway: Management, allWorkers: AllWorkers): void {
  const at = "/kernel/hooks/:name";
  mount.route("GET", at, hookRoutes.show, (call) => allWorkers.hook(nameOf(call)));
  mount.route("GET", `${at}/logs`, hookRoutes.logs, async (call) => ({
    lines: await allWorkers.hookLines(nameOf(call), limitIn(call.query, 200, "lines")),
  }));
  mount.route("GET", `${at}/code`, hookRoutes.code, (call) => gateway.hooks.code(nameOf(call)));
  mount.route("POST", `${at}/check`, hookRoutes.check, async (call) =>
    checkHook(await gateway.hooks.look(nameOf(call)), gateway.events()),
  );
  mount.route("POST", `${at}/run`, hookRoutes.run, async (call) =>
    runHook(gateway, nameOf(call), await call.json<Static<typeof runBody>>()),
  );
}

function nameOf({ params }: Call): string {
  return params["name"] ?? "";
}
