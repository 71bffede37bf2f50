/** Browser control: a loopback API, the agent's `browser` tool, and `portico browser`. */
import { join } from "node:path";
import { definePlugin, type Mount, type PluginContext } from "portico";
import { createPolicy } from "./targets/imposed-policy.ts";
import { serveOtherWorkers, delegateToFirstWorker } from "./elsewhere.ts";
import { errors } from "./errors.ts";
import { createDebuggingServers } from "./drivers/debugging/server.ts";
import { hasLibrary } from "./drivers/library.ts";
import { mountRoutes } from "./routes/mount.ts";
import { events, createNavigatedEmitter } from "./events.ts";
import { EXTENSION_ORIGIN } from "./relay/pairing.ts";
import { openRelay } from "./relay/server.ts";
import { openSandboxes } from "./targets/open-sandboxes.ts";
import { BrowserConfig, Credentials, SandboxConfig, logPrivateAccess } from "./schema.ts";
import type { BrowserControl, ServiceOptions } from "./browser-control.ts";
import type { RelayControl } from "./relay-control.ts";
import { createTargets } from "./targets/targets.ts";
import { addTool } from "./tool.ts";

/** The offsets from `gateway.port`. */
const PORT_OFFSETS = { control: 2, relay: 3 };

export default definePlugin({
  name: "browser",
  description: "Controls a local or remote Chromium for agents and scripts",
  config: {
    browser: BrowserConfig,
    "gateway.auth": Credentials,
    "agents.defaults.sandbox": SandboxConfig,
  },
  events,
  errors,
  commands: { browser: () => import("./cli.ts") },
  checks: { browser: () => import("./check.ts") },
  async setup(ctx, config) {
    if (delegateToFirstWorker(ctx)) return;
    let current = config;
    const settings = () => current.browser;
    const sandbox = () => current["agents.defaults.sandbox"];
    const secret = () => current["gateway.auth"].token ?? current["gateway.auth"].password ?? "";
    const policy = createPolicy({ config: settings, sandbox, ports: ctx.ports });
    const libraryPresent = () => hasLibrary(ctx.paths.package, process.env);
    const server = await ctx.server({ name: "browser", portOffset: PORT_OFFSETS.control });
    const relay = await startRelay(ctx, server, secret, () => settings().enabled);
    const debugging = createDebuggingServers(ctx, () => Object.values(current["gateway.auth"]));
    const shared = {
      env: process.env,
      libraryPresent,
      openDebugging: debugging.open,
      whyProtected: ctx.whyProtected,
    };
    let control: Promise<BrowserControl> | undefined;
    const openControlOnce = (): Promise<BrowserControl> => {
      control ??= openControl(ctx, relay, { ...policy, ...shared });
      return control;
    };
    const sandboxes = openSandboxes(ctx, {
      ...shared,
      config: settings,
      sandbox,
      ownPorts: policy.ownPorts,
    });
    const applyPolicy = () =>
      Promise.all(
        [control, sandboxes.current()].map(async (opened) => (await opened)?.applyPolicy()),
      );
    const targets = createTargets({
      ctx,
      env: process.env,
      config: settings,
      sandbox,
      local: openControlOnce,
      hasRelayedTab: () => relay.isAway || relay.tabs().length > 0,
      sandboxes: sandboxes.get,
    });
    ctx.provide("browser", {
      async request(request) {
        if (policy.adopt(request.policy)) await applyPolicy();
        return targets.route(request);
      },
    });
    mountRoutes(server, targets);
    addTool(ctx, targets);
    serveOtherWorkers(ctx, targets);
    ctx.onConfig((next: typeof config) => {
      const previousSecret = secret();
      current = next;
      if (secret() !== previousSecret) relay.end("The token has changed.");
      debugging.disconnectRevoked();
      void applyPolicy();
    });
    ctx.defer(() => relay.end("The gateway is stopping."));
    ctx.defer(async () => (await control)?.close());

    const { endOrphans } = await import("./drivers/orphans.ts");
    await endOrphans(join(ctx.paths.state, "browser"), ctx.log);
    if (settings().enabled) logPrivateAccess(settings(), ctx.log);
  },
});

/** Starts the extension relay on its own server. */
async function startRelay(
  ctx: PluginContext,
  control: Mount,
  secret: () => string,
  enabled: () => boolean,
): Promise<RelayControl> {
  const server = await ctx.server({
    name: "relay",
    portOffset: PORT_OFFSETS.relay,
    origins: [EXTENSION_ORIGIN],
  });
  return openRelay({
    server,
    control,
    secret,
    enabled,
    extensionDir: join(ctx.dir, "extension"),
    version: ctx.version,
    log: ctx.log,
  });
}

/** Loads the browser control at the first request, so that it does not slow down the start. */
async function openControl(
  ctx: PluginContext,
  relay: RelayControl,
  options: Omit<ServiceOptions, "paths" | "log" | "relayUrl" | "relay" | "onNavigated">,
): Promise<BrowserControl> {
  const { BrowserControl } = await import("./browser-control.ts");
  return new BrowserControl({
    ...options,
    paths: ctx.paths,
    log: ctx.log,
    relayUrl: () => relay.url,
    relay,
    onNavigated: createNavigatedEmitter(ctx),
  });
}
