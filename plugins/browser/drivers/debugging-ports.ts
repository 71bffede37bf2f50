/** Ports of this machine at which browsers can be controlled: no page may reach them. */
import { parseUrl } from "portico/strings";
import type { BrowserConfig, ProfileConfig } from "../schema.ts";

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** True where a browser's socket is on this machine. */
export const isHere = (url: string): boolean => isLoopback(parseUrl(url)?.hostname ?? "");

function portOf(cdpUrl: string | undefined): number[] {
  if (cdpUrl === undefined || !isHere(cdpUrl)) return [];
  const { port, protocol } = new URL(cdpUrl);
  return [Number(port) || (protocol === "https:" || protocol === "wss:" ? 443 : 80)];
}

/** The ports in settings, in addition to the range that the guard knows already. */
export function debuggingPorts(
  ...profiles: readonly Pick<ProfileConfig, "cdpPort" | "cdpUrl">[]
): number[] {
  return profiles.flatMap(({ cdpPort, cdpUrl }) => [
    ...(cdpPort === undefined ? [] : [cdpPort]),
    ...portOf(cdpUrl),
  ]);
}

/** Those of the configuration. */
export const configuredPorts = (browser: BrowserConfig, sandboxCdpUrl?: string): number[] =>
  debuggingPorts(browser, { cdpUrl: sandboxCdpUrl }, ...Object.values(browser.profiles));
