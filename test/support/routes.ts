/** A gateway that runs only one plugin, through which a test mounts its own routes. */
import type { Mount, PluginContext } from "portico";
import { type InProcessGateway, startGateway } from "./gateway.ts";
import { inject } from "./inject.ts";
import type { Line } from "./collect-log.ts";
import type { RawServer } from "./raw-http.ts";

/** The gateway that serves the routes of a test. */
export interface RouteGateway extends Mount, RawServer {
  url: string;
  /** The context that the plugin received in its setup. */
  plugin: PluginContext;
  /** The number of requests in progress. */
  readonly active: number;
  /** Every log line so far. */
  readonly lines: Line[];
  /** Changes a setting of `gateway.http`. */
  set(name: string, value: unknown): Promise<void>;
  /** Returns the routes of the plugin. */
  routes(): { method: string; path: string }[];
  stop(): Promise<void>;
}

export interface RouteGatewayOptions {
  /** Settings of `gateway.http`. */
  settings?: Record<string, unknown>;
  /** Further settings of `gateway`. */
  gateway?: Record<string, unknown>;
}

/** The global name under which the plugin below finds the map for its context. */
const CONTEXTS = Symbol.for("portico-test-contexts");
const contexts = new Map<string, PluginContext>();
Object.assign(globalThis, { [CONTEXTS]: contexts });

const PLUGIN = `import { definePlugin } from "portico";
export default definePlugin({
  name: "routes",
  setup(ctx) { globalThis[Symbol.for("portico-test-contexts")].set(ctx.paths.home, ctx); },
});
`;

const started: InProcessGateway[] = [];

export async function startRoutes(options: RouteGatewayOptions = {}): Promise<RouteGateway> {
  const auth = { token: "right-token", password: "right-password" };
  const gateway = await startGateway({
    only: ["routes"],
    files: { "plugins/routes/plugin.ts": PLUGIN },
    config: { gateway: { auth, ...options.gateway, http: options.settings ?? {} } },
  });
  started.push(gateway);
  const ctx = contexts.get(gateway.home);
  if (!ctx) throw new Error(`the plugin did not start: ${JSON.stringify(gateway.lines)}`);
  const state = gateway.gateway.use("gateway");
  return {
    port: gateway.port,
    url: gateway.url,
    plugin: ctx,
    route: (...route) => ctx.route(...route),
    upgrade: (...upgrade) => ctx.upgrade(...upgrade),
    errors: (...form) => ctx.errors(...form),
    get active() {
      return state.active();
    },
    get lines() {
      return gateway.lines.map(toLine);
    },
    send: (bytes) => inject(gateway.gateway.servers.mainServer, bytes),
    set: (name, value) => gateway.gateway.use("host").config.set(["gateway", "http", name], value),
    stop: () => gateway.stop(),
    routes: () => state.routes()[0]!.routes.filter(({ path }) => !KERNEL_ROUTES.has(path)),
  };
}

const KERNEL_ROUTES = new Set(["/health", "/ready"]);

/** Stops all gateways of `startRoutes`. Pass it to `test.after`. */
export async function stopRoutes(): Promise<void> {
  await Promise.all(started.splice(0).map((gateway) => gateway.stop()));
}

function toLine({ level, msg, ...fields }: Record<string, unknown>): Line {
  return { level: String(level), message: msg as string | undefined, fields };
}
