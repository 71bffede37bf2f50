/**
 * The browsers of sandboxed sessions. Each session gets one at first use, which is later discarded with all its data.
 */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger, Paths, Principal } from "portico";
import { errors } from "../errors.ts";
import { portFree } from "../net/free-port.ts";
import { subjectOf } from "../declarations/routes.ts";
import type { WhyProtected } from "../files/confine.ts";
import type { BrowserConfig, SandboxConfig } from "../schema.ts";
import { BrowserControl, type ServiceOptions } from "../browser-control.ts";
import type { BrowserResponse, BrowserRequest } from "../types.ts";
import { attachContext } from "./attach-context.ts";

const SANDBOX_PROFILE = "sandbox";
/** Sandbox ports are assigned from the end of the range, the ports of the host's profiles from its start. */
const FIRST_PORT = 18_899;
const LAST_PORT = 18_800;

export interface SandboxesOptions
  extends Pick<ServiceOptions, "env" | "libraryPresent" | "openDebugging" | "ownPorts"> {
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** The directory of the files of all sandboxes. */
  dir: string;
  /** The prefix of each sandbox's directory name, which identifies the owning gateway. */
  gateway: string;
  paths: Paths;
  whyProtected?: WhyProtected;
  log: Logger;
  /** The time without use in ms after which a sandbox is discarded. Default: 5 minutes. */
  idleMs?: number;
  /** The maximum number of sandboxes. The least recently used idle one makes room for another. Default: 8. */
  maxCount?: number;
}

interface Sandbox {
  control: BrowserControl;
  dir: string;
  running: Set<Promise<BrowserResponse>>;
  timer: NodeJS.Timeout | undefined;
}

export class Sandboxes {
  readonly #options: SandboxesOptions;
  /** The open sandboxes by key, the most recently used last. */
  readonly #sandboxes = new Map<string, Sandbox>();
  /** Maps a port to the directory of the sandbox that uses it. */
  readonly #ports = new Map<number, string>();
  readonly #removals = new Set<Promise<void>>();

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /**
   * Handles a request in the session's sandbox. A `principal` other than the owner gets a separate sandbox in the same
   * session.
   */
  async request(
    session: string,
    request: BrowserRequest,
    principal: Principal = "owner",
  ): Promise<BrowserResponse> {
    if (subjectOf(request.route) === "profiles") {
      throw errors.sandboxWithoutProfiles();
    }
    const key = sandboxKey(session, principal);
    const sandbox = this.#getOrCreate(key, principal);
    clearTimeout(sandbox.timer);
    const work = sandbox.control.request(request);
    sandbox.running.add(work);
    try {
      return await work;
    } finally {
      sandbox.running.delete(work);
      this.#recordUse(key, sandbox);
    }
  }

  /** The sessions that have a sandbox. */
  get sessions(): string[] {
    return [...new Set([...this.#sandboxes.keys()].map(sessionOfKey))];
  }

  #recordUse(key: string, sandbox: Sandbox): void {
    clearTimeout(sandbox.timer);
    if (this.#sandboxes.get(key) !== sandbox) return;
    this.#sandboxes.delete(key);
    this.#sandboxes.set(key, sandbox);
    if (sandbox.running.size > 0) return;
    sandbox.timer = setTimeout(() => void this.#remove(key), this.#options.idleMs ?? 300_000);
    sandbox.timer.unref();
  }

  #getOrCreate(key: string, principal: Principal): Sandbox {
    const current = this.#sandboxes.get(key);
    if (current !== undefined) return current;
    this.#makeRoom();
    const sandbox = this.#create(principal);
    this.#sandboxes.set(key, sandbox);
    return sandbox;
  }

  #makeRoom(): void {
    const maxCount = this.#options.maxCount ?? 8;
    if (this.#sandboxes.size < maxCount) return;
    const oldest = [...this.#sandboxes].find(([, { running }]) => running.size === 0);
    if (oldest === undefined) {
      throw errors.sandboxesBusy({ most: maxCount }, { headers: { "retry-after": "10" } });
    }
    void this.#remove(oldest[0]);
  }

  #create(principal: Principal): Sandbox {
    const { paths, sandbox, config, log, env, libraryPresent, openDebugging, ownPorts } =
      this.#options;
    const { whyProtected } = this.#options;
    const { cdpUrl } = sandbox().browser;
    const dir = join(
      this.#options.dir,
      `${this.#options.gateway}-${randomBytes(8).toString("hex")}`,
    );
    const control = new BrowserControl({
      config: () => createSandboxConfig(config(), cdpUrl, principal),
      paths: { ...paths, home: dir, state: dir, tmp: chooseTemporaryRoot(paths, dir, principal) },
      statesDir: join(dir, "states"),
      ...(whyProtected && { whyProtected }),
      log,
      env,
      libraryPresent,
      openDebugging,
      ownPorts,
      // A sandbox has no relay: the tabs of a user's own browser belong to the host.
      relayUrl: () => "http://127.0.0.1:0",
      ...(cdpUrl === undefined
        ? { choosePort: () => this.#choosePort(dir) }
        : { attach: attachContext }),
    });
    return { control, dir, running: new Set(), timer: undefined };
  }

  /** Chooses a port that no sandbox uses, and releases the previous port of this one. */
  async #choosePort(dir: string): Promise<number> {
    for (let port = FIRST_PORT; port >= LAST_PORT; port--) {
      if (this.#ports.has(port)) continue;
      this.#ports.set(port, dir);
      if (await portFree(port)) {
        this.#freePorts(dir, port);
        return port;
      }
      this.#ports.delete(port);
    }
    throw errors.noSandboxPort({ first: LAST_PORT, last: FIRST_PORT });
  }

  #freePorts(dir: string, keptPort?: number): void {
    for (const [port, holder] of this.#ports)
      if (holder === dir && port !== keptPort) this.#ports.delete(port);
  }

  /** Discards a session's browsers. Does nothing if it has none. */
  async end(session: string): Promise<void> {
    const keys = [...this.#sandboxes.keys()].filter((key) => sessionOfKey(key) === session);
    await Promise.all(keys.map((key) => this.#remove(key)));
  }

  #remove(key: string): Promise<void> {
    const sandbox = this.#sandboxes.get(key);
    if (sandbox === undefined) return Promise.resolve();
    this.#sandboxes.delete(key);
    const work = this.#end(sandbox).finally(() => this.#removals.delete(work));
    this.#removals.add(work);
    return work;
  }

  async #end({ control, dir, running, timer }: Sandbox): Promise<void> {
    clearTimeout(timer);
    await control.close();
    // Without a browser, running requests end soon; until then, one of them may write below the directory.
    await Promise.allSettled(running);
    this.#freePorts(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(
      (error: unknown) =>
        this.#options.log.warn({ err: error }, "a sandbox's files could not be removed"),
    );
  }

  /** Applies a changed policy to all sandboxes. */
  async applyPolicy(): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map(({ control }) => control.applyPolicy()));
  }

  /** Discards all sandboxes. */
  async close(): Promise<void> {
    for (const key of [...this.#sandboxes.keys()]) void this.#remove(key);
    await Promise.allSettled([...this.#removals]);
  }
}

/**
 * Returns the temporary root. Callers other than the owner get a separate one, so that they cannot upload the owner's
 * files.
 */
function chooseTemporaryRoot(paths: Paths, dir: string, principal: Principal): string {
  return principal === "owner" ? paths.tmp : join(dir, "tmp");
}

/** Session names contain no line breaks. */
const SEPARATOR = "\n";

function sandboxKey(session: string, principal: Principal): string {
  return `${principal}${SEPARATOR}${session}`;
}

function sessionOfKey(key: string): string {
  return key.slice(key.indexOf(SEPARATOR) + 1);
}

/**
 * Returns the host's settings without its profiles and with access to public addresses only, whatever the host may
 * reach. Only the owner may use the host names that the settings exempt from that.
 */
function createSandboxConfig(
  config: BrowserConfig,
  cdpUrl: string | undefined,
  principal: Principal,
): BrowserConfig {
  const { cdpUrl: _own, ...rest } = config;
  return {
    ...rest,
    attachOnly: false,
    headless: true,
    defaultProfile: SANDBOX_PROFILE,
    profiles: { [SANDBOX_PROFILE]: { cdpUrl } },
    ssrfPolicy: {
      ...config.ssrfPolicy,
      ...(principal === "owner" ? {} : { allowedHostnames: [] }),
      dangerouslyAllowPrivateNetwork: false,
      allowPrivateNetwork: false,
    },
  };
}
