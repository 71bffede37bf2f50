/**
 * Attaches each kind of profile to a browser: by starting one, by connecting to one, or through the extension relay.
 */
import { isPorticoError, type Logger } from "portico";
import { createGuard, type EgressProxy, type Guard, startEgressProxy } from "portico/egress";
import { errors } from "../errors.ts";
import { Cdp } from "./cdp.ts";
import { isOnThisMachine } from "./debugging-ports.ts";
import { findEndpoint } from "./endpoint.ts";
import { findBrowser } from "./executables.ts";
import type { DebuggingServer, OpenDebuggingServer } from "./debugging/server.ts";
import { launch } from "./launch.ts";
import type { Multiplexer } from "./debugging/multiplexer.ts";
import type { RelayControl } from "../relay-control.ts";
import { createPeerCheck, canIdentifyPeers } from "../net/socket-owner.ts";
import type { Profile, Profiles } from "../profiles.ts";
import { allowsPrivate, type BrowserConfig } from "../schema.ts";

/** A browser that is ready for connections. */
export interface Attachment {
  /** The clients on the pipe of a browser that was started here. Any other browser is reached over `wsUrl`. */
  clients?: Multiplexer;
  /** The address of the debugging socket. */
  wsUrl?: string;
  headers: Record<string, string>;
  /** True if the browser runs on this machine and sees the same files. */
  isLocal: boolean;
  /** `enforced` if all its traffic goes through our proxy. */
  egress: "enforced" | "best-effort";
  proxy?: EgressProxy;
  /**
   * Set if a separate browser context is used instead of the browser's own windows; its traffic goes through that
   * proxy.
   */
  ownContext?: { proxyUrl?: string };
  pid?: number;
  port?: number;
  headless?: boolean;
  executablePath?: string;
  /** True if the library must not apply its default overrides (focus, media), as in a user's own browser. */
  noDefaults: boolean;
  /** The timeout of connecting, in ms. */
  connectTimeoutMs: number;
  /** Resolves when the process has ended. */
  exited?: Promise<void>;
  /** Stops everything that was started for this attachment. */
  release(): Promise<void>;
}

export interface DriverDeps {
  config: () => BrowserConfig;
  profiles: Profiles;
  guard: Guard;
  log: Logger;
  /** The gateway's own extension relay. */
  relay?: RelayControl | undefined;
  openDebugging: OpenDebuggingServer;
  env: NodeJS.ProcessEnv;
}

/** The number of ports to try, so that as many browsers can start at once: each of the others may take a port first. */
const PORT_TRIES = 25;

/** True if the browser starts headless by default: without a display, a browser with windows cannot start. */
export const isHeadlessByDefault = (config: BrowserConfig, env: NodeJS.ProcessEnv): boolean =>
  config.headless ?? !hasDisplay(env);

/** True if a browser can open windows. Only Linux systems commonly lack a display. */
const hasDisplay = (env: NodeJS.ProcessEnv): boolean =>
  process.platform !== "linux" || Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);

/** Opens the browser of a profile. */
export function attach(
  profile: Profile,
  deps: DriverDeps,
  options: { headless?: boolean },
): Promise<Attachment> {
  if (profile.driver === "managed")
    return deps.config().attachOnly
      ? attachRunning(profile, deps)
      : launchManaged(profile, deps, options);
  return profile.driver === "remote" ? attachRemote(profile, deps) : attachRelay(profile, deps);
}

async function launchManaged(
  profile: Profile,
  deps: DriverDeps,
  options: { headless?: boolean },
): Promise<Attachment> {
  const config = deps.config();
  const executablePath = await findBrowser(config.executablePath, process.platform, deps.env);
  if (options.headless === false && !hasDisplay(deps.env))
    throw errors.noDisplay({ param: "headless" });
  const headless = options.headless ?? isHeadlessByDefault(config, deps.env);
  const debugging = await openDebugging(profile, deps);
  let pid: number | undefined;
  const proxy = await startEgressProxy({
    guard: deps.guard,
    log: deps.log,
    proxyUrl: profile.proxy,
    isClient: canIdentifyPeers ? createPeerCheck(() => pid) : undefined,
  });
  const release = async (): Promise<void> =>
    void (await Promise.all([debugging.close(), proxy.close()]));
  try {
    const browser = await launch({
      executablePath,
      headless,
      dir: profile.dir,
      noSandbox: config.noSandbox,
      color: profile.color,
      proxyUrl: proxy.url,
      userAgent: profile.userAgent,
      args: profile.args,
      timeoutMs: config.launchTimeoutMs,
      onProcess: (started) => {
        pid = started;
      },
    });
    debugging.serve(browser.clients);
    return {
      clients: browser.clients,
      headers: {},
      isLocal: true,
      egress: "enforced",
      proxy,
      pid: browser.pid,
      port: debugging.port,
      headless,
      executablePath,
      noDefaults: false,
      connectTimeoutMs: config.launchTimeoutMs,
      exited: browser.exited,
      async release() {
        await browser.stop();
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Opens the debugging server on a free port. Another gateway on this machine chooses from the same ports, so a port
 * that it took first is skipped.
 */
async function openDebugging(
  profile: Profile,
  { profiles, openDebugging: open }: DriverDeps,
): Promise<DebuggingServer> {
  for (let tries = 1; ; tries++) {
    const port = await profiles.launchPort(profile);
    try {
      return await open(port);
    } catch (error) {
      if (!isPorticoError(error) || error.code !== "port_in_use") throw error;
      if (tries === PORT_TRIES) throw errors.portTaken({ port }, { cause: error });
    }
  }
}

/** Attaches to a browser that another program started on the profile's port (`attachOnly`). */
async function attachRunning(profile: Profile, deps: DriverDeps): Promise<Attachment> {
  const port = await deps.profiles.port(profile);
  const endpoint = await findEndpoint(`http://127.0.0.1:${port}`, 3000).catch((error: unknown) => {
    throw errors.nothingToAttach({ port, profile: profile.name }, { cause: error });
  });
  return {
    ...endpoint,
    isLocal: true,
    egress: "best-effort",
    port,
    noDefaults: false,
    connectTimeoutMs: 15_000,
    release: async () => {},
  };
}

async function attachRemote(profile: Profile, deps: DriverDeps): Promise<Attachment> {
  const { remoteCdpTimeoutMs, remoteCdpHandshakeTimeoutMs } = deps.config();
  const endpoint = await findEndpoint(profile.cdpUrl!, remoteCdpTimeoutMs);
  // The library has one timeout for the handshake and everything after it; this tests the handshake alone with a
  // shorter one.
  const trial = await Cdp.connect(endpoint.wsUrl, {
    timeoutMs: remoteCdpHandshakeTimeoutMs,
    headers: endpoint.headers,
  });
  trial.close();
  return {
    ...endpoint,
    isLocal: isOnThisMachine(endpoint.wsUrl),
    egress: "best-effort",
    noDefaults: false,
    connectTimeoutMs: 15_000,
    release: async () => {},
  };
}

async function attachRelay(profile: Profile, deps: DriverDeps): Promise<Attachment> {
  const relay = deps.relay?.url === profile.cdpUrl ? deps.relay : undefined;
  await relay?.ready();
  relay?.checkFree();
  const endpoint = await findEndpoint(profile.cdpUrl!, 3000, relay?.headers());
  return {
    ...endpoint,
    // An extension may not pass files to pages by path, so the library transfers their content.
    isLocal: false,
    egress: "best-effort",
    noDefaults: true,
    connectTimeoutMs: 15_000,
    release: async () => {},
  };
}

/** Creates the guard of a browser: the configured policy, and our own ports, which no page may reach. */
export function createBrowserGuard(
  config: () => BrowserConfig,
  ownPorts: () => readonly number[],
  ownAddresses?: () => readonly string[],
): Guard {
  return createGuard({
    ownPorts,
    ownAddresses,
    policy: () => {
      const current = config();
      const { hostnameAllowlist, allowedHostnames } = current.ssrfPolicy;
      return { allowPrivate: allowsPrivate(current), hostnameAllowlist, allowedHostnames };
    },
  });
}
