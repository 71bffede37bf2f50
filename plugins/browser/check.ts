/** Whether there is a browser to drive. */
import type { GatewayClient, HealthCheck } from "portico/command-line";
import { findBrowser } from "./drivers/executables.ts";
import { hasLibrary } from "./drivers/library.ts";

const check: HealthCheck = async ({ config, env, paths, gateway }) => {
  const { enabled, executablePath } = (config["browser"] ?? {}) as {
    enabled?: boolean;
    executablePath?: string;
  };
  if (enabled === false) return [{ level: "ok", message: "switched off by browser.enabled" }];
  try {
    const found = await findBrowser(executablePath, process.platform, env);
    if (hasLibrary(paths.package, env)) return [{ level: "ok", message: found }];
    const mend = "npm install playwright-core in the package's directory";
    return [
      {
        level: "warning",
        message: `${found}; without playwright-core only some of the routes work`,
        mend,
      },
    ];
  } catch (error) {
    const node = await standIn(gateway);
    if (node !== undefined)
      return [
        { level: "ok", message: `there is no local browser; the gateway uses the node ${node}` },
      ];
    const mend =
      "install a Chromium-based browser, set browser.executablePath, or set browser.enabled to false";
    return [{ level: "warning", message: (error as Error).message, mend }];
  }
};

/** The node that is asked where there is no browser here. */
async function standIn(gateway: GatewayClient | undefined): Promise<string | undefined> {
  type Nodes = { mode: string; nodes: { name: string; state: string; browser: boolean }[] };
  const found = await gateway?.request<Nodes>("GET", "/nodes").catch(() => undefined);
  if (found?.mode !== "auto") return undefined;
  return found.nodes.find(({ state, browser }) => state === "connected" && browser)?.name;
}
export default check;
