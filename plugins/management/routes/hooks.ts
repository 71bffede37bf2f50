/** `/kernel/hooks`: the management of hooks over HTTP. */
import type { Call, Management, Mount, Static } from "portico";
import { limitIn } from "portico/strings";
import type { Everywhere } from "../everywhere.ts";
import { checkHook } from "../hooks/check.ts";
import { runHook } from "../hooks/run.ts";
import { hookRoutes, type runBody } from "./routes-schema.ts";

/** Mounts the routes; all of them take the gateway's own token. */
export function mountHookRoutes(mount: Mount, gateway: Management, everywhere: Everywhere): void {
  const host = gateway.hooks;
  const steer = async (action: Parameters<Everywhere["act"]>[0], name: string) => {
    await everywhere.act(action, name);
    return everywhere.hook(name);
  };
  const named = (work: (name: string, call: Call) => unknown) => (call: Call) =>
    work(call.params["name"] ?? "", call);

  mount.route("GET", "/kernel/hooks", hookRoutes.list, async () => ({
    hooks: await everywhere.hooks(),
    roots: host.roots().map(({ name, dir }) => ({ name, dir })),
  }));
  mount.route("POST", "/kernel/hooks/rescan", hookRoutes.rescan, async () => {
    await everywhere.act("hooks.rescan");
    return { hooks: await everywhere.hooks() };
  });
  mount.route("POST", "/kernel/hooks/reload", hookRoutes.reloadAll, async () => {
    await everywhere.act("hooks.reload");
    return { hooks: await everywhere.hooks() };
  });
  mount.route(
    "GET",
    "/kernel/hooks/:name",
    hookRoutes.show,
    named((name) => everywhere.hook(name)),
  );
  mount.route(
    "GET",
    "/kernel/hooks/:name/logs",
    hookRoutes.logs,
    named(async (name, call) => ({
      lines: await everywhere.hookLines(name, limitIn(call.query, 200, "lines")),
    })),
  );
  mount.route(
    "GET",
    "/kernel/hooks/:name/code",
    hookRoutes.code,
    named((name) => host.code(name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/enable",
    hookRoutes.enable,
    named((name) => steer("hooks.enable", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/disable",
    hookRoutes.disable,
    named((name) => steer("hooks.disable", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/approve",
    hookRoutes.approve,
    named((name) => steer("hooks.approve", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/reload",
    hookRoutes.reload,
    named((name) => steer("hooks.reload", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/check",
    hookRoutes.check,
    named(async (name) => checkHook(await host.look(name), gateway.events())),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/run",
    hookRoutes.run,
    named(async (name, call) => {
      return runHook(gateway, name, await call.json<Static<typeof runBody>>());
    }),
  );
}
