/** Browser control: a loopback API, the agent's `browser` tool, and `portico browser`. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { definePlugin } from "portico";
import { mountRoutes } from "./mount.ts";
import { allowsPrivate, BrowserConfig } from "./schema.ts";
import type { BrowserControl } from "./service.ts";
import { addTool } from "./tool.ts";

/** The port is `gateway.port` + 2; the extension relay has the next one. */
const PORT_OFFSET = 2;
const RELAY_OFFSET = 3;

export default definePlugin({
  name: "browser",
  description: "Drives a Chromium of its own, or one elsewhere, for agents and scripts",
  config: { browser: BrowserConfig },
  commands: { browser: () => import("./cli.ts") },
  async setup(ctx, config) {
    let settings = config.browser;
    const { env } = process;
    const server = await ctx.server({ name: "browser", portOffset: PORT_OFFSET });
    const relayPort = server.port - PORT_OFFSET + RELAY_OFFSET;

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
            ownPorts: () => [...ctx.ports(), relayPort],
            relayUrl: () => `http://127.0.0.1:${relayPort}`,
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
    ctx.onConfig((next: { browser: BrowserConfig }) => {
      settings = next.browser;
    });
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
