/** `/kernel/plugins`: the management of plugins over HTTP. */
import type { Management, Mount } from "portico";
import type { ChannelsService } from "portico/models";
import type { AllWorkers } from "../all-workers.ts";
import { addRuns } from "./plugin-runs.ts";
import { pluginRoutes } from "./routes-schema.ts";

export function mountPluginRoutes(
  mount: Mount,
  { plugins, config }: Management,
  allWorkers: AllWorkers,
  channels: () => ChannelsService | undefined,
): void {
  mount.route("GET", "/kernel/plugins", pluginRoutes.list, () => ({
    plugins: plugins.list(),
  }));
  mount.route("GET", "/kernel/plugins/:name", pluginRoutes.show, ({ params }) =>
    addRuns(plugins.info(params["name"] ?? ""), channels()),
  );
  mount.route("POST", "/kernel/plugins/:name/reload", pluginRoutes.reload, async ({ params }) => {
    const { name } = plugins.info(params["name"] ?? "");
    await allWorkers.act("plugins.reload", name);
    return plugins.info(name);
  });
  for (const [action, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    mount.route(
      "POST",
      `/kernel/plugins/:name/${action}`,
      pluginRoutes[action],
      async ({ params }) => {
        const { name } = plugins.info(params["name"] ?? "");
        await config.set(["plugins", "entries", name, "enabled"], enabled);
        return plugins.info(name);
      },
    );
  }
  mount.route("POST", "/kernel/plugins/rescan", pluginRoutes.rescan, async () => {
    await allWorkers.act("plugins.rescan");
    return { plugins: plugins.list() };
  });
}
