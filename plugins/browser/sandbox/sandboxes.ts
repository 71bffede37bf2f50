/** Browsers of sandboxed sessions: one each, made at the first use, thrown away with all that it kept. */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Logger, type Paths, PorticoError } from "portico";
import { portFree } from "../connect/launch.ts";
import type { BrowserConfig, SandboxConfig } from "../schema.ts";
import { BrowserControl, type ServiceOptions } from "../service.ts";
import type { BrowserAnswer, BrowserRequest } from "../types.ts";
import { attachContext } from "./attach.ts";

const PROFILE = "sandbox";
/** From the far end of the range: the host's profiles are given theirs from the near one. */
const FIRST_PORT = 18_899;
const LAST_PORT = 18_800;

export interface SandboxesOptions extends Pick<ServiceOptions, "env" | "libraryPresent" | "ownPorts"> {
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** Everything that they keep lies below it. */
  dir: string;
  paths: Paths;
  log: Logger;
  /** Unused for that long, a sandbox goes; default 5 minutes. */
  idleMs?: number;
  /** Most at the same time; the longest unused one makes room. Default 8. */
  most?: number;
}

interface Sandbox {
  control: BrowserControl;
  dir: string;
  port: number | undefined;
  busy: number;
  usedAt: number;
  timer: NodeJS.Timeout | undefined;
}

interface Place {
  coming: Promise<Sandbox>;
  /** Once it is there. */
  sandbox?: Sandbox;
}

/** What no session of its own gets: routes that are about the host. */
const HOST_ONLY = new Set(["/profiles", "/profiles/create", "/profiles/:name", "/reset-profile"]);

export class Sandboxes {
  readonly #options: SandboxesOptions;
  readonly #open = new Map<string, Place>();
  readonly #ports = new Set<number>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  async request(sessionKey: string, request: BrowserRequest): Promise<BrowserAnswer> {
    if (HOST_ONLY.has(request.route)) {
      throw new PorticoError(
        "invalid_request_error",
        "A sandbox has one browser and no profiles: leave this out, or pass target=host where that is allowed.",
      );
    }
    const sandbox = await this.#take(sessionKey);
    sandbox.busy++;
    clearTimeout(sandbox.timer);
    // Thrown away between making and using it: the session has begun anew.
    if (this.#open.get(sessionKey)?.sandbox !== sandbox) return this.request(sessionKey, request);
    try {
      return await sandbox.control.request(request);
    } finally {
      sandbox.busy--;
      sandbox.usedAt = Date.now();
      if (sandbox.busy === 0) this.#expire(sessionKey, sandbox);
    }
  }

  /** Sessions that have a sandbox. */
  get sessions(): string[] {
    return [...this.#open.keys()];
  }

  #expire(sessionKey: string, sandbox: Sandbox): void {
    clearTimeout(sandbox.timer);
    if (this.#open.get(sessionKey)?.sandbox !== sandbox) return;
    sandbox.timer = setTimeout(() => void this.end(sessionKey), this.#options.idleMs ?? 300_000);
    sandbox.timer.unref();
  }

  async #take(sessionKey: string): Promise<Sandbox> {
    const known = this.#open.get(sessionKey);
    if (known !== undefined) return known.coming;
    this.#makeRoom();
    const place: Place = { coming: this.#make() };
    this.#open.set(sessionKey, place);
    place.coming.then(
      (sandbox) => (place.sandbox = sandbox),
      () => this.#open.delete(sessionKey),
    );
    return place.coming;
  }

  #makeRoom(): void {
    const most = this.#options.most ?? 8;
    if (this.#open.size < most) return;
    const idle = [...this.#open].flatMap(([key, { sandbox }]): [string, number][] =>
      sandbox === undefined || sandbox.busy > 0 ? [] : [[key, sandbox.usedAt]],
    );
    const [oldest] = idle.sort((a, b) => a[1] - b[1]);
    if (oldest === undefined) {
      throw new PorticoError(
        "service_unavailable",
        `${most} sandboxed sessions use a browser at the moment, which is the most: try again later.`,
        { headers: { "retry-after": "10" } },
      );
    }
    void this.end(oldest[0]);
  }

  async #make(): Promise<Sandbox> {
    const { paths, sandbox, config, log, env, libraryPresent, ownPorts } = this.#options;
    const { cdpUrl } = sandbox().browser;
    const dir = join(this.#options.dir, randomBytes(8).toString("hex"));
    const port = cdpUrl === undefined ? await this.#port() : undefined;
    const control = new BrowserControl({
      config: () => sandboxed(config(), port === undefined ? { cdpUrl: cdpUrl as string } : { cdpPort: port }),
      paths: { ...paths, home: dir, state: dir },
      log,
      env,
      libraryPresent,
      ownPorts,
      // There is no relay in a sandbox: a person's own tabs are the host's.
      relayUrl: () => "http://127.0.0.1:0",
      ...(cdpUrl === undefined ? {} : { attach: attachContext }),
    });
    return { control, dir, port, busy: 0, usedAt: Date.now(), timer: undefined };
  }

  async #port(): Promise<number> {
    for (let port = FIRST_PORT; port >= LAST_PORT; port--) {
      if (this.#ports.has(port)) continue;
      this.#ports.add(port);
      if (await portFree(port)) return port;
      this.#ports.delete(port);
    }
    throw new PorticoError("conflict", `No debugging port is free in ${LAST_PORT}–${FIRST_PORT}: stop a browser.`);
  }

  /** Throws a session's browser away; nothing where it has none. */
  end(sessionKey: string): Promise<void> {
    const place = this.#open.get(sessionKey);
    if (place === undefined) return Promise.resolve();
    this.#open.delete(sessionKey);
    const work = this.#end(place.coming).finally(() => this.#ending.delete(work));
    this.#ending.add(work);
    return work;
  }

  async #end(coming: Promise<Sandbox>): Promise<void> {
    const sandbox = await coming.catch(() => undefined);
    if (sandbox === undefined) return;
    clearTimeout(sandbox.timer);
    await sandbox.control.close();
    if (sandbox.port !== undefined) this.#ports.delete(sandbox.port);
    await rm(sandbox.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "a sandbox's files could not be removed"),
    );
  }

  /** Throws all of them away. */
  async close(): Promise<void> {
    for (const key of [...this.#open.keys()]) void this.end(key);
    await Promise.allSettled([...this.#ending]);
  }
}

/** The host's settings without its profiles, and with public addresses only, whatever the host may reach. */
function sandboxed(config: BrowserConfig, profile: { cdpUrl: string } | { cdpPort: number }): BrowserConfig {
  const { cdpUrl: _own, ...rest } = config;
  return {
    ...rest,
    attachOnly: false,
    headless: true,
    defaultProfile: PROFILE,
    profiles: { [PROFILE]: profile },
    ssrfPolicy: { ...config.ssrfPolicy, dangerouslyAllowPrivateNetwork: false, allowPrivateNetwork: false },
  };
}
