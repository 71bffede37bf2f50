/** `/kernel/hooks`: the management of hooks over HTTP. */
import { type Call, compile, type Management, type Mount, Type } from "portico";
import { limitIn } from "portico/strings";
import type { Everywhere } from "../everywhere.ts";
import { checkHook } from "../hooks/check.ts";
import { runHook } from "../hooks/run.ts";

const RunBody = Type.Object({
  event: Type.Optional(Type.String()),
  context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  sessionKey: Type.Optional(Type.String()),
});

/** Mounts the routes; all of them take the gateway's own token. */
export function mountHookRoutes(mount: Mount, gateway: Management, everywhere: Everywhere): void {
  const host = gateway.hooks;
  const owner = { access: "gateway" } as const;
  const runBody = compile(RunBody);
  const steer = async (action: Parameters<Everywhere["act"]>[0], name: string) => {
    await everywhere.act(action, name);
    return everywhere.hook(name);
  };
  const named = (work: (name: string, call: Call) => unknown) => (call: Call) =>
    work(call.params["name"] ?? "", call);

  mount.route(
    "GET",
    "/kernel/hooks",
    { ...owner, summary: "All hooks, and the roots they come from" },
    async () => ({
      hooks: await everywhere.hooks(),
      roots: host.roots().map(({ name, dir }) => ({ name, dir })),
    }),
  );
  mount.route(
    "POST",
    "/kernel/hooks/rescan",
    { ...owner, summary: "Look at the disk now" },
    async () => {
      await everywhere.act("hooks.rescan");
      return { hooks: await everywhere.hooks() };
    },
  );
  mount.route(
    "POST",
    "/kernel/hooks/reload",
    { ...owner, summary: "Load all hooks anew" },
    async () => {
      await everywhere.act("hooks.reload");
      return { hooks: await everywhere.hooks() };
    },
  );
  mount.route(
    "GET",
    "/kernel/hooks/:name",
    { ...owner, summary: "One hook" },
    named((name) => everywhere.hook(name)),
  );
  mount.route(
    "GET",
    "/kernel/hooks/:name/logs",
    { ...owner, summary: "Its last lines" },
    named(async (name, call) => ({
      lines: await everywhere.hookLines(name, limitIn(call.query, 200, "lines")),
    })),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/enable",
    { ...owner, summary: "Turn it on, wake it" },
    named((name) => steer("hooks.enable", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/disable",
    { ...owner, summary: "Turn it off" },
    named((name) => steer("hooks.disable", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/approve",
    { ...owner, summary: "Approve its content" },
    named((name) => steer("hooks.approve", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/reload",
    { ...owner, summary: "Load it anew" },
    named((name) => steer("hooks.reload", name)),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/check",
    { ...owner, summary: "What is wrong with it" },
    named(async (name) => checkHook(await host.look(name), gateway.events())),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/run",
    { ...owner, summary: "Run it against a sample event" },
    named(async (name, call) => {
      const body = (await call.body()).length ? await call.json(runBody) : {};
      return runHook(gateway, name, body);
    }),
  );
}
