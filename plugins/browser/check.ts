/** The health check of the plugin: reports whether a browser is available. */
import type { GatewayClient, HealthCheck } from "portico/command-line";
import { findBrowser } from "./drivers/executables.ts";
import { hasLibrary } from "./drivers/library.ts";

const check: HealthCheck = async ({ config, env, paths, gateway }) => {
  const { enabled, executablePath } = (config["browser"] ?? {}) as {
    enabled?: boolean;
    executablePath?: string;
  };
  if (enabled === false)
    return [{ level: "ok", message: "switched off: browser.enabled is false" }];
  try {
    const executable = await findBrowser(executablePath, process.platform, env);
    if (hasLibrary(paths.package, env)) return [{ level: "ok", message: executable }];
    const remedy = "Run `npm install playwright-core` in Portico's package directory.";
    return [
      {
        level: "warning",
        message: `${executable}; without playwright-core, only some of the browser routes work`,
        remedy,
      },
    ];
  } catch (error) {
    const node = await findSubstituteNode(gateway);
    if (node !== undefined)
      return [
        { level: "ok", message: `there is no local browser; the gateway uses the node ${node}` },
      ];
    const remedy =
      "Install a Chromium-based browser, set browser.executablePath, or set browser.enabled to false.";
    return [{ level: "warning", message: (error as Error).message, remedy }];
  }
};

/** Returns the name of the node whose browser the gateway uses instead of a local one. */
async function findSubstituteNode(gateway: GatewayClient | undefined): Promise<string | undefined> {
  type Nodes = { mode: string; nodes: { name: string; state: string; browser: boolean }[] };
  const listing = await gateway?.request<Nodes>("GET", "/nodes").catch(() => undefined);
  if (listing?.mode !== "auto") return undefined;
  return listing.nodes.find(({ state, browser }) => state === "connected" && browser)?.name;
}
export default check;
