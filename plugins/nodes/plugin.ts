/** Browsers on other machines: the gateway's side, and the side of `portico node`. */
import { isDeepStrictEqual } from "node:util";
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { type NodesStatus, nodeNotices, Profiles } from "./gateway/notices.ts";
import { acceptNodes } from "./gateway/upgrade.ts";
import { Registry } from "./gateway/registry.ts";
import { nodesRoute } from "./routes-schema.ts";
import type { NodeStatus } from "./index.ts";
import { Credentials, NodeHostConfig, NodesConfig } from "./schema.ts";

export default definePlugin({
  name: "nodes",
  description: "Lets the gateway use browsers on other machines",
  errors,
  config: {
    "gateway.nodes": NodesConfig,
    "gateway.auth": Credentials,
    nodeHost: NodeHostConfig,
    "browser.profiles": Profiles,
  },
  commands: { node: () => import("./cli/node.ts"), nodes: () => import("./cli/nodes.ts") },
  setup(ctx, config) {
    let settings = config["gateway.nodes"];
    let credentials = config["gateway.auth"];
    let host = config.nodeHost;
    let profiles = config["browser.profiles"];
    const registry = new Registry({ ctx, config: () => settings });
    acceptNodes(ctx, registry);
    ctx.provide("nodes", registry);
    const workers = ctx.find("workers");
    const isFirst = workers === undefined || workers.index === 0;
    if (workers && isFirst) ctx.defer(workers.on("nodes:list", () => registry.list()));
    const status = async (): Promise<NodesStatus> => ({
      mode: registry.mode,
      nodes: isFirst ? registry.list() : await workers.ask<NodeStatus[]>(0, "nodes:list"),
    });
    ctx.route("GET", "/nodes", nodesRoute, status);
    ctx.add("notice", { name: "nodes", list: async () => nodeNotices(profiles, await status()) });

    const configListeners = new Set<() => void>();
    ctx.provide("nodeHost", {
      async connect(options) {
        const { startHost } = await import("./host/host.ts");
        const onConfig = (listener: () => void) => {
          configListeners.add(listener);
          return () => void configListeners.delete(listener);
        };
        return startHost({ ctx, config: () => host, onConfig }, options);
      },
    });
    ctx.onConfig((next: typeof config) => {
      const previous = { settings, credentials };
      settings = next["gateway.nodes"];
      credentials = next["gateway.auth"];
      host = next.nodeHost;
      profiles = next["browser.profiles"];
      if (!isDeepStrictEqual(credentials, previous.credentials)) registry.credentialsChanged();
      else if (!isDeepStrictEqual(settings, previous.settings)) registry.welcomeAgain();
      for (const listener of configListeners) listener();
    });
    ctx.defer(() => registry.close());
  },
});
