/** `/kernel/hooks`: the management of hooks over HTTP. */
import { type Call, compile, type HookInfo, type Management, type Mount, Type } from "portico";
import { checkHook } from "../hooks/check.ts";
import { describeHook } from "../hooks/record.ts";
import { runHook } from "../hooks/run.ts";
import { disableHook, enableHook } from "../hooks/switch.ts";

const RunBody = Type.Object({
  event: Type.Optional(Type.String()),
  context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  sessionKey: Type.Optional(Type.String()),
});

/** Mounts the routes; all of them take the gateway's own token. */
export function mountHookRoutes(mount: Mount, gateway: Management): void {
  const host = gateway.hooks;
  const shown = (info: HookInfo) => describeHook(info, gateway.events());
  const all = () => host.list().map(shown);
  const owner = { access: "gateway" } as const;
  const runBody = compile(RunBody);
  const named = (work: (name: string, call: Call) => unknown) => (call: Call) => work(call.params["name"] ?? "", call);

  mount.route("GET", "/kernel/hooks", { ...owner, summary: "All hooks, and the roots they come from" }, () => ({
    hooks: all(),
    roots: host.roots().map(({ name, dir }) => ({ name, dir })),
  }));
  mount.route("POST", "/kernel/hooks/rescan", { ...owner, summary: "Look at the disk now" }, async () => {
    await host.rescan();
    return { hooks: all() };
  });
  mount.route("POST", "/kernel/hooks/reload", { ...owner, summary: "Load all hooks anew" }, async () => ({
    hooks: (await host.reload()).map(shown),
  }));
  mount.route(
    "GET",
    "/kernel/hooks/:name",
    { ...owner, summary: "One hook" },
    named((name) => shown(host.info(name))),
  );
  mount.route(
    "GET",
    "/kernel/hooks/:name/logs",
    { ...owner, summary: "Its last lines" },
    named((name, call) => ({ lines: host.logs(name, countOf(call)) })),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/enable",
    { ...owner, summary: "Turn it on, wake it" },
    named(async (name) => shown(await enableHook(gateway, name))),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/disable",
    { ...owner, summary: "Turn it off" },
    named(async (name) => shown(await disableHook(gateway, name))),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/approve",
    { ...owner, summary: "Approve its content" },
    named(async (name) => shown(await host.approve(name))),
  );
  mount.route(
    "POST",
    "/kernel/hooks/:name/reload",
    { ...owner, summary: "Load it anew" },
    named(async (name) => {
      const [record] = await host.reload(name);
      return shown(record ?? host.info(name));
    }),
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

function countOf(call: Call): number {
  const lines = Number(call.query.get("lines") ?? 200);
  return Number.isInteger(lines) && lines > 0 ? lines : 200;
}
