/** `/kernel/plugins`: the management of plugins over HTTP. */
import type { Management, Mount } from "portico";
import type { ChannelsService } from "portico/chat";
import type { Everywhere } from "../everywhere.ts";
import { withRuns } from "./plugin-runs.ts";

export function mountPluginRoutes(
  mount: Mount,
  { plugins, config }: Management,
  everywhere: Everywhere,
  channels: () => ChannelsService | undefined,
): void {
  const owner = { access: "gateway" } as const;
  mount.route("GET", "/kernel/plugins", { ...owner, summary: "All plugins" }, () => ({
    plugins: plugins.list(),
  }));
  mount.route("GET", "/kernel/plugins/:name", { ...owner, summary: "One plugin" }, ({ params }) =>
    withRuns(plugins.info(params["name"] ?? ""), channels()),
  );
  mount.route(
    "POST",
    "/kernel/plugins/:name/reload",
    { ...owner, summary: "Load it anew" },
    async ({ params }) => {
      const { name } = plugins.info(params["name"] ?? "");
      await everywhere.act("plugins.reload", name);
      return plugins.info(name);
    },
  );
  for (const [action, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    const summary = enabled ? "Switch it on" : "Switch it off";
    mount.route(
      "POST",
      `/kernel/plugins/:name/${action}`,
      { ...owner, summary },
      async ({ params }) => {
        const { name } = plugins.info(params["name"] ?? "");
        await config.set(["plugins", "entries", name, "enabled"], enabled);
        return plugins.info(name);
      },
    );
  }
  mount.route(
    "POST",
    "/kernel/plugins/rescan",
    { ...owner, summary: "Look at the disk now" },
    async () => {
      await everywhere.act("plugins.rescan");
      return { plugins: plugins.list() };
    },
  );
}
