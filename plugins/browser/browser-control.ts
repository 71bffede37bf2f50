/** The control API without HTTP. The server, the agent's tool and node hosts all use it. */
import { join } from "node:path";
import { type Check, compile, type Logger, type Paths, type PorticoError } from "portico";
import { errors } from "./errors.ts";
import { withTimeout } from "./deadline.ts";
import { attach, createBrowserGuard, type DriverDeps } from "./drivers/attach.ts";
import type { OpenDebuggingServer } from "./drivers/debugging/server.ts";
import { toPublicError, stripControlCharacters } from "./failures.ts";
import { BytesResponse, type Op, type OperationDeps } from "./op.ts";
import { libraryUnavailableError, loadLibrary } from "./drivers/playwright.ts";
import { type Profile, Profiles } from "./profiles.ts";
import { prepareRelay } from "./relay/prepare.ts";
import type { RelayControl } from "./relay-control.ts";
import { subjectOf, type Route, ROUTES } from "./declarations/routes.ts";
import type { WhyProtected } from "./files/confine.ts";
import { getOperation } from "./routes/operations.ts";
import { type BrowserConfig, isStrict } from "./schema.ts";
import { Session } from "./session/session.ts";
import type { BrowserRequest, BrowserResponse } from "./types.ts";

export interface ServiceOptions {
  config(): BrowserConfig;
  paths: Paths;
  /** Explains why a path must not be written. Default: nothing below the temporary root is protected. */
  whyProtected?: WhyProtected;
  /** The directory for the files of `/state/save`. Default: the temporary root. */
  statesDir?: string;
  log: Logger;
  env: NodeJS.ProcessEnv;
  /** Returns the ports of the gateway, and of browsers in its configuration, which no page may reach. */
  ownPorts(): readonly number[];
  /** Returns further addresses at which these ports are, besides this machine. */
  ownAddresses?(): readonly string[];
  /** Returns the address of the extension relay. */
  relayUrl(): string;
  /** The extension relay, if it runs in this gateway. */
  relay?: RelayControl;
  /** Opens the debugging port of a browser that is started here. */
  openDebugging: OpenDebuggingServer;
  /** Returns whether the automation library is installed. */
  libraryPresent(): boolean;
  /** Called for each navigation of a tab's main frame. */
  onNavigated?(event: { profile: string; targetId: string; url: string }): void;
  /** Attaches to the browser of a profile. Default: `attach`, which chooses by the profile's driver. */
  attach?: typeof attach;
  /** See `ProfilesOptions`. */
  choosePort?(): Promise<number>;
}

/** Throws a 404 for an unknown tab, also on routes that act on the whole browser: the caller meant another one. */
async function checkTargetId({ session }: Op, path: string, targetId?: string): Promise<void> {
  if (targetId === undefined || subjectOf(path) !== "page" || !session.isRunning) return;
  await session.tabs.targetId(targetId);
}

interface RouteEntry {
  route: Route;
  check: Check<Record<string, unknown>>;
}

export class BrowserControl {
  readonly #options: ServiceOptions;
  readonly #routes = new Map<string, RouteEntry>();
  readonly #sessions = new Map<string, Session>();
  readonly #deps: OperationDeps;
  #isClosed = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { config, paths, log } = options;
    for (const route of ROUTES)
      this.#routes.set(`${route.method} ${route.path}`, {
        route,
        check: compile(route.schema) as Check<Record<string, unknown>>,
      });
    const profiles = new Profiles({
      config,
      dir: join(paths.state, "browser"),
      trash: join(paths.home, "trash"),
      relayUrl: options.relayUrl,
      choosePort: options.choosePort,
    });
    const ownPorts = (): number[] => [...options.ownPorts(), ...profiles.createdPorts];
    const guard = createBrowserGuard(config, ownPorts, options.ownAddresses);
    const drivers: DriverDeps = {
      config,
      profiles,
      guard,
      log,
      env: options.env,
      relay: options.relay,
      openDebugging: options.openDebugging,
    };
    const library = (): ReturnType<typeof loadLibrary> =>
      options.libraryPresent() ? loadLibrary() : Promise.reject(libraryUnavailableError());
    this.#deps = {
      config,
      profiles,
      guard,
      log,
      paths,
      whyProtected: options.whyProtected ?? (() => undefined),
      statesDir: options.statesDir,
      library,
      env: options.env,
      libraryPresent: options.libraryPresent,
      relay: options.relay,
      sessions: () => this.#sessions.values(),
      session: (profile) => this.#session(profile, drivers, library),
    };
  }

  #session(profile: Profile, drivers: DriverDeps, library: OperationDeps["library"]): Session {
    const current = this.#sessions.get(profile.name);
    // A changed profile gets a new session after its old browser has stopped.
    if (
      current !== undefined &&
      (current.isRunning || JSON.stringify(current.profile) === JSON.stringify(profile))
    )
      return current;
    const session = new Session(profile, {
      library,
      guard: drivers.guard,
      log: drivers.log,
      maxTabs: () => drivers.config().maxTabs,
      isStrict: () => isStrict(drivers.config()),
      attach: (profileToAttach, attachOptions) => {
        if (this.#isClosed) throw errors.browserDiscarded();
        return (this.#options.attach ?? attach)(profileToAttach, drivers, attachOptions);
      },
      onNavigated: ({ name }, tab, url) =>
        this.#options.onNavigated?.({ profile: name, targetId: tab.targetId, url }),
    });
    this.#sessions.set(profile.name, session);
    return session;
  }

  /** Handles one request. Rejects only with a `PorticoError` that may be shown to the caller. */
  async request(request: BrowserRequest): Promise<BrowserResponse> {
    const entry = this.#routes.get(`${request.method} ${request.route}`);
    if (entry === undefined) throw errors.unknownRoute();
    const { route, check } = entry;
    const config = this.#options.config();
    if (!config.enabled) {
      throw errors.browserDisabled();
    }
    const fields = check.merge(request);
    const parsed = check.parse(fields);
    const input = route.path === "/act" ? fields : parsed;
    const profile = await this.#deps.profiles.get(parsed["profile"] as string | undefined);
    const session = this.#deps.session(profile);
    const op: Op = {
      deps: this.#deps,
      profile,
      session,
      config,
      accept: request.accept ?? "",
      caller: request.caller ?? "http",
      startedAt: Date.now(),
    };
    const limit = route.limitMs + ((parsed["timeoutMs"] as number | undefined) ?? 0);
    try {
      const run = async (): Promise<object> => {
        if (profile.driver === "extension") await prepareRelay(op, route.path);
        await checkTargetId(op, route.path, parsed["targetId"] as string | undefined);
        return getOperation(route.name)(op, input as never);
      };
      const body = await withTimeout(limit, route.what, run());
      return body instanceof BytesResponse ? { bytes: body.content, type: body.type } : { body };
    } catch (error) {
      throw await this.#explain(error, route, session);
    }
  }

  /** Returns the time limit of a request in ms. */
  limitMs(request: BrowserRequest): number {
    const matched = this.#routes.get(`${request.method} ${request.route}`);
    const requestedMs = Number(matched?.check.merge(request)["timeoutMs"]);
    const limit = matched?.route.limitMs ?? 45_000;
    return limit + (requestedMs > 0 ? Math.min(requestedMs, 600_000) : 0);
  }

  /** Returns the driver of a profile, or `undefined` if the profile is unknown. */
  async driver(profile: string | undefined): Promise<Profile["driver"] | undefined> {
    return (await this.#deps.profiles.all()).get(profile ?? this.#deps.profiles.defaultName)
      ?.driver;
  }

  async #explain(error: unknown, route: Route, session: Session): Promise<PorticoError> {
    const publicError = toPublicError(error, route.what);
    publicError.message = stripControlCharacters(publicError.message);
    // When a browser crashes, its tabs disappear first.
    if (
      publicError.code === "tab_not_found" &&
      route.path !== "/stop" &&
      !(await session.isAlive())
    ) {
      return errors.browserGone({ what: route.what }, { cause: error });
    }
    return publicError;
  }

  /** Applies a changed policy: ends connections that it no longer allows, and checks later requests against it. */
  async applyPolicy(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.applyPolicy()));
  }

  /** Stops every browser permanently; a pending request cannot start one again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.stop()));
  }
}
