/** Browsers of sandboxed sessions: one each, made at the first use, thrown away with all that it kept. */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger, Paths, Principal } from "portico";
import { errors } from "../errors.ts";
import { portFree } from "../net/free-port.ts";
import { aboutOf } from "../declarations/routes.ts";
import type { WhyProtected } from "../files/confine.ts";
import type { BrowserConfig, SandboxConfig } from "../schema.ts";
import { BrowserControl, type ServiceOptions } from "../browser-control.ts";
import type { BrowserResponse, BrowserRequest } from "../types.ts";
import { attachContext } from "./attach-context.ts";

const PROFILE = "sandbox";
/** From the far end of the range: the host's profiles are given theirs from the near one. */
const FIRST_PORT = 18_899;
const LAST_PORT = 18_800;

export interface SandboxesOptions
  extends Pick<ServiceOptions, "env" | "libraryPresent" | "openDebugging" | "ownPorts"> {
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** The directory of all their files. */
  dir: string;
  /** Begins the name of each one's directory: whose it is. */
  gateway: string;
  paths: Paths;
  whyProtected?: WhyProtected;
  log: Logger;
  /** Unused for that long, a sandbox goes; default 5 minutes. */
  idleMs?: number;
  /** Most at the same time; the longest unused one makes room. Default 8. */
  most?: number;
}

interface Sandbox {
  control: BrowserControl;
  dir: string;
  running: Set<Promise<BrowserResponse>>;
  timer: NodeJS.Timeout | undefined;
}

export class Sandboxes {
  readonly #options: SandboxesOptions;
  /** The last used one last. */
  readonly #open = new Map<string, Sandbox>();
  /** Port → directory of the sandbox that has it. */
  readonly #ports = new Map<number, string>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** `principal`: of a turn that is not the owner's. What it does in a session is apart from what the owner does there. */
  async request(
    session: string,
    request: BrowserRequest,
    principal: Principal = "owner",
  ): Promise<BrowserResponse> {
    if (aboutOf(request.route) === "profiles") {
      throw errors.sandboxWithoutProfiles();
    }
    const key = sandboxKey(session, principal);
    const sandbox = this.#take(key, principal);
    clearTimeout(sandbox.timer);
    const work = sandbox.control.request(request);
    sandbox.running.add(work);
    try {
      return await work;
    } finally {
      sandbox.running.delete(work);
      this.#used(key, sandbox);
    }
  }

  /** Sessions that have a sandbox. */
  get sessions(): string[] {
    return [...new Set([...this.#open.keys()].map(sessionOfKey))];
  }

  #used(key: string, sandbox: Sandbox): void {
    clearTimeout(sandbox.timer);
    if (this.#open.get(key) !== sandbox) return;
    this.#open.delete(key);
    this.#open.set(key, sandbox);
    if (sandbox.running.size > 0) return;
    sandbox.timer = setTimeout(() => void this.#remove(key), this.#options.idleMs ?? 300_000);
    sandbox.timer.unref();
  }

  #take(key: string, principal: Principal): Sandbox {
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    this.#makeRoom();
    const sandbox = this.#make(principal);
    this.#open.set(key, sandbox);
    return sandbox;
  }

  #makeRoom(): void {
    const most = this.#options.most ?? 8;
    if (this.#open.size < most) return;
    const oldest = [...this.#open].find(([, { running }]) => running.size === 0);
    if (oldest === undefined) {
      throw errors.sandboxesBusy({ most }, { headers: { "retry-after": "10" } });
    }
    void this.#remove(oldest[0]);
  }

  #make(principal: Principal): Sandbox {
    const { paths, sandbox, config, log, env, libraryPresent, openDebugging, ownPorts } =
      this.#options;
    const { whyProtected } = this.#options;
    const { cdpUrl } = sandbox().browser;
    const dir = join(
      this.#options.dir,
      `${this.#options.gateway}-${randomBytes(8).toString("hex")}`,
    );
    const control = new BrowserControl({
      config: () => sandboxed(config(), cdpUrl, principal),
      paths: { ...paths, home: dir, state: dir, tmp: temporaryRoot(paths, dir, principal) },
      statesDir: join(dir, "states"),
      ...(whyProtected && { whyProtected }),
      log,
      env,
      libraryPresent,
      openDebugging,
      ownPorts,
      // There is no relay in a sandbox: a person's own tabs are the host's.
      relayUrl: () => "http://127.0.0.1:0",
      ...(cdpUrl === undefined
        ? { choosePort: () => this.#choosePort(dir) }
        : { attach: attachContext }),
    });
    return { control, dir, running: new Set(), timer: undefined };
  }

  /** Another port than all that are given out; the one that the sandbox had before is free again. */
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

  #freePorts(dir: string, kept?: number): void {
    for (const [port, holder] of this.#ports)
      if (holder === dir && port !== kept) this.#ports.delete(port);
  }

  /** Throws a session's browsers away; nothing where it has none. */
  async end(session: string): Promise<void> {
    const keys = [...this.#open.keys()].filter((key) => sessionOfKey(key) === session);
    await Promise.all(keys.map((key) => this.#remove(key)));
  }

  #remove(key: string): Promise<void> {
    const sandbox = this.#open.get(key);
    if (sandbox === undefined) return Promise.resolve();
    this.#open.delete(key);
    const work = this.#end(sandbox).finally(() => this.#ending.delete(work));
    this.#ending.add(work);
    return work;
  }

  async #end({ control, dir, running, timer }: Sandbox): Promise<void> {
    clearTimeout(timer);
    await control.close();
    // Without a browser they end soon, and until then one of them may write below the directory.
    await Promise.allSettled(running);
    this.#freePorts(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(
      (error: unknown) =>
        this.#options.log.warn({ err: error }, "a sandbox's files could not be removed"),
    );
  }

  /** After a change of the policy. */
  async recheck(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ control }) => control.recheck()));
  }

  /** Throws all of them away. */
  async close(): Promise<void> {
    for (const key of [...this.#open.keys()]) void this.#remove(key);
    await Promise.allSettled([...this.#ending]);
  }
}

/** Downloads and uploads of others than the owner lie apart: the owner's are not theirs to upload. */
function temporaryRoot(paths: Paths, dir: string, principal: Principal): string {
  return principal === "owner" ? paths.tmp : join(dir, "tmp");
}

/** No session's name holds a line break. */
const SEPARATOR = "\n";

function sandboxKey(session: string, principal: Principal): string {
  return `${principal}${SEPARATOR}${session}`;
}

function sessionOfKey(key: string): string {
  return key.slice(key.indexOf(SEPARATOR) + 1);
}

/**
 * The host's settings without its profiles, and with public addresses only, whatever the host may reach. Names that the
 * settings exempt from that are the owner's to use.
 */
function sandboxed(
  config: BrowserConfig,
  cdpUrl: string | undefined,
  principal: Principal,
): BrowserConfig {
  const { cdpUrl: _own, ...rest } = config;
  return {
    ...rest,
    attachOnly: false,
    headless: true,
    defaultProfile: PROFILE,
    profiles: { [PROFILE]: { cdpUrl } },
    ssrfPolicy: {
      ...config.ssrfPolicy,
      ...(principal === "owner" ? {} : { allowedHostnames: [] }),
      dangerouslyAllowPrivateNetwork: false,
      allowPrivateNetwork: false,
    },
  };
}
