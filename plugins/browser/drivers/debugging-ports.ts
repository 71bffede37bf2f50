/** Determines the ports of this machine at which browsers can be controlled, since no page may reach them. */
import { parseUrl } from "portico/strings";
import type { BrowserConfig, ProfileConfig } from "../schema.ts";

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** True if the address of a browser's socket is on this machine. */
export const isOnThisMachine = (url: string): boolean => isLoopback(parseUrl(url)?.hostname ?? "");

function localPortOf(cdpUrl: string | undefined): number[] {
  if (cdpUrl === undefined || !isOnThisMachine(cdpUrl)) return [];
  const { port, protocol } = new URL(cdpUrl);
  return [Number(port) || (protocol === "https:" || protocol === "wss:" ? 443 : 80)];
}

/** Returns the ports in profile settings, in addition to the range that the guard blocks anyway. */
export function listDebuggingPorts(
  ...profiles: readonly Pick<ProfileConfig, "cdpPort" | "cdpUrl">[]
): number[] {
  return profiles.flatMap(({ cdpPort, cdpUrl }) => [
    ...(cdpPort === undefined ? [] : [cdpPort]),
    ...localPortOf(cdpUrl),
  ]);
}

/** Returns the debugging ports in the configuration. */
export const listConfiguredPorts = (browser: BrowserConfig, sandboxCdpUrl?: string): number[] =>
  listDebuggingPorts(browser, { cdpUrl: sandboxCdpUrl }, ...Object.values(browser.profiles));
