/** Browser control: a loopback API, the agent's `browser` tool, and `portico browser`. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { definePlugin, Type } from "portico";
import { narrowed } from "./imposed.ts";
import { mountRoutes } from "./mount.ts";
import { EXTENSION_ORIGIN } from "./relay/pairing.ts";
import { openRelay } from "./relay/server.ts";
import { openSandboxes } from "./sandbox/open.ts";
import { allowsPrivate, BrowserConfig, SandboxConfig } from "./schema.ts";
import type { BrowserControl } from "./service.ts";
import { createTargets } from "./targets.ts";
import { addTool } from "./tool.ts";
import type { ImposedPolicy } from "./types.ts";

/** The port is `gateway.port` + 2; the extension relay has the next one. */
const PORT_OFFSET = 2;
const RELAY_OFFSET = 3;

/** What the relay's token is derived from. */
const Credentials = Type.Object({ token: Type.Optional(Type.String()), password: Type.Optional(Type.String()) });

export default definePlugin({
  name: "browser",
  description: "Drives a Chromium of its own, or one elsewhere, for agents and scripts",
  config: { browser: BrowserConfig, "gateway.auth": Credentials, "agents.defaults.sandbox": SandboxConfig },
  commands: { browser: () => import("./cli.ts") },
  async setup(ctx, config) {
    let settings = config.browser;
    let sandbox = config["agents.defaults.sandbox"];
    /** Of the gateway that this process acts for, where it is a node. */
    let imposed: ImposedPolicy | undefined;
    const ownPorts = () => [...ctx.ports(), ...(imposed?.ports ?? [])];
    const { env } = process;
    const server = await ctx.server({ name: "browser", portOffset: PORT_OFFSET });
    let auth = config["gateway.auth"];
    const relay = openRelay({
      server: await ctx.server({ name: "relay", portOffset: RELAY_OFFSET, origins: [EXTENSION_ORIGIN] }),
      control: server,
      secret: () => auth.token ?? auth.password ?? "",
      enabled: () => settings.enabled,
      extensionDir: join(ctx.dir, "extension"),
      version: ctx.version,
      log: ctx.log,
    });

    /** The library is there unless it was left out of the installation (or a test says so). */
    function libraryPresent(): boolean {
      if (env["PORTICO_BROWSER_LIBRARY"] === "absent") return false;
      try {
        return createRequire(join(ctx.paths.package, "package.json")).resolve("playwright-core") !== "";
      } catch {
        return false;
      }
    }

    let control: Promise<BrowserControl> | undefined;
    const open = (): Promise<BrowserControl> =>
      (control ??= import("./service.ts").then(
        ({ BrowserControl }) =>
          new BrowserControl({
            config: () => narrowed(settings, imposed),
            paths: ctx.paths,
            log: ctx.log,
            env,
            libraryPresent,
            ownPorts,
            ownAddresses: () => imposed?.addresses ?? [],
            relayUrl: () => relay.url,
            relay,
            onNavigated: (event) => {
              if (ctx.hasListeners("browser:navigated")) void ctx.emit("browser:navigated", event);
            },
          }),
      ));

    ctx.event("browser:navigated", {
      mode: "notify",
      description: "A tab under control shows another page.",
      sample: { profile: "portico", targetId: "9F1C0B7E4C0D4B6E8A5D2F3B1C7E9A60", url: "https://example.com/" },
    });
    const targets = createTargets({
      ctx,
      env,
      config: () => settings,
      sandbox: () => sandbox,
      local: open,
      relayed: () => relay.tabs().length > 0,
      sandboxes: openSandboxes(ctx, { config: () => settings, sandbox: () => sandbox, env, libraryPresent, ownPorts }),
    });
    ctx.provide("browser", {
      request(request) {
        if (request.policy !== undefined) imposed = request.policy;
        return targets.request(request);
      },
    });
    mountRoutes(server, targets);
    addTool(ctx, targets);
    ctx.onConfig(
      (next: { browser: BrowserConfig; "gateway.auth": typeof auth; "agents.defaults.sandbox": SandboxConfig }) => {
        settings = next.browser;
        sandbox = next["agents.defaults.sandbox"];
        const before = auth;
        auth = next["gateway.auth"];
        if (before.token !== auth.token || before.password !== auth.password) relay.end("The token has changed.");
      },
    );
    ctx.defer(() => relay.end("The gateway stops."));
    ctx.defer(async () => (await control)?.close());

    const { endLeftBehind } = await import("./connect/left-behind.ts");
    await endLeftBehind(join(ctx.paths.state, "browser"), ctx.log);
    if (settings.enabled && allowsPrivate(settings)) {
      ctx.log.warn(
        "browser: pages on private networks can be reached (browser.ssrfPolicy.dangerouslyAllowPrivateNetwork is true)",
      );
    }
  },
});
