/** Browser control: a loopback API, the agent's `browser` tool, and `portico browser`. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { definePlugin, Type } from "portico";
import { mountRoutes } from "./mount.ts";
import { EXTENSION_ORIGIN } from "./relay/pairing.ts";
import { openRelay } from "./relay/server.ts";
import { allowsPrivate, BrowserConfig } from "./schema.ts";
import type { BrowserControl } from "./service.ts";
import { addTool } from "./tool.ts";

/** The port is `gateway.port` + 2; the extension relay has the next one. */
const PORT_OFFSET = 2;
const RELAY_OFFSET = 3;

/** What the relay's token is derived from. */
const Credentials = Type.Object({ token: Type.Optional(Type.String()), password: Type.Optional(Type.String()) });

export default definePlugin({
  name: "browser",
  description: "Drives a Chromium of its own, or one elsewhere, for agents and scripts",
  config: { browser: BrowserConfig, "gateway.auth": Credentials },
  commands: { browser: () => import("./cli.ts") },
  async setup(ctx, config) {
    let settings = config.browser;
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
            config: () => settings,
            paths: ctx.paths,
            log: ctx.log,
            env,
            libraryPresent,
            ownPorts: ctx.ports,
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
    ctx.provide("browser", { request: async (request) => (await open()).request(request) });
    mountRoutes(server, open);
    addTool(ctx, open);
    ctx.onConfig((next: { browser: BrowserConfig; "gateway.auth": typeof auth }) => {
      settings = next.browser;
      const before = auth;
      auth = next["gateway.auth"];
      if (before.token !== auth.token || before.password !== auth.password) relay.end("The token has changed.");
    });
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
