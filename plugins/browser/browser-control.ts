/** The control API without its HTTP: requests in, answers out. The server, the agent's tool and node hosts all use it. */
import { join } from "node:path";
import { type Check, compile, type Logger, type Paths, type PorticoError } from "portico";
import { errors } from "./errors.ts";
import { within } from "./deadline.ts";
import { attach, browserGuard, type DriverDeps } from "./drivers/attach.ts";
import type { OpenDebuggingServer } from "./drivers/debugging/server.ts";
import { failure, plainText } from "./failures.ts";
import { Bytes, type Op, type OperationDeps } from "./op.ts";
import { libraryUnavailable, loadLibrary } from "./drivers/playwright.ts";
import { type Profile, Profiles } from "./profiles.ts";
import { prepareRelay } from "./relay/prepare.ts";
import type { RelayControl } from "./relay-control.ts";
import { aboutOf, type Route, ROUTES } from "./declarations/routes.ts";
import type { WhyProtected } from "./files/confine.ts";
import { operationOf } from "./routes/operations.ts";
import { type BrowserConfig, isStrict } from "./schema.ts";
import { Session } from "./session/session.ts";
import type { BrowserRequest, BrowserResponse } from "./types.ts";

export interface ServiceOptions {
  config(): BrowserConfig;
  paths: Paths;
  /** Default: nothing below the temporary root is protected. */
  whyProtected?: WhyProtected;
  /** Where `/state/save` puts its files; default: the temporary root. */
  statesDir?: string;
  log: Logger;
  env: NodeJS.ProcessEnv;
  /** Ports of the gateway, and of browsers in its configuration, that no page may reach. */
  ownPorts(): readonly number[];
  /** Where these ports are too, beside this machine. */
  ownAddresses?(): readonly string[];
  /** Where the extension relay listens. */
  relayUrl(): string;
  /** The extension relay itself, where it runs in this gateway. */
  relay?: RelayControl;
  /** Opens the debugging port of a browser that is started here. */
  openDebugging: OpenDebuggingServer;
  /** Whether the automation library is installed. */
  libraryPresent(): boolean;
  /** Called for each navigation of a tab's main frame. */
  onNavigated?(event: { profile: string; targetId: string; url: string }): void;
  /** Default: by the kind of the profile. */
  attach?: typeof attach;
  /** As `ProfilesOptions` has it. */
  choosePort?(): Promise<number>;
}

/** 404 for a tab that is not there, on the routes that act on the whole browser too: the caller meant another one. */
async function checkTab({ session }: Op, path: string, targetId?: string): Promise<void> {
  if (targetId === undefined || aboutOf(path) !== "page" || !session.running) return;
  await session.tabs.targetId(targetId);
}

interface Matched {
  route: Route;
  check: Check<Record<string, unknown>>;
}

export class BrowserControl {
  readonly #options: ServiceOptions;
  readonly #routes = new Map<string, Matched>();
  readonly #sessions = new Map<string, Session>();
  readonly #deps: OperationDeps;
  #closed = false;

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
    const guard = browserGuard(config, ownPorts, options.ownAddresses);
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
      options.libraryPresent() ? loadLibrary() : Promise.reject(libraryUnavailable());
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
    const known = this.#sessions.get(profile.name);
    // A profile that was changed gets a new session once the old browser is gone.
    if (
      known !== undefined &&
      (known.running || JSON.stringify(known.profile) === JSON.stringify(profile))
    )
      return known;
    const session = new Session(profile, {
      library,
      guard: drivers.guard,
      log: drivers.log,
      maxTabs: () => drivers.config().maxTabs,
      strict: () => isStrict(drivers.config()),
      attach: (which, asked) => {
        if (this.#closed) throw errors.browserDiscarded();
        return (this.#options.attach ?? attach)(which, drivers, asked);
      },
      onNavigated: ({ name }, tab, url) =>
        this.#options.onNavigated?.({ profile: name, targetId: tab.targetId, url }),
    });
    this.#sessions.set(profile.name, session);
    return session;
  }

  /** Answers one request. Every failure is a `PorticoError` that may be shown. */
  async request(request: BrowserRequest): Promise<BrowserResponse> {
    const matched = this.#routes.get(`${request.method} ${request.route}`);
    if (matched === undefined) throw errors.unknownRoute();
    const { route, check } = matched;
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
        await checkTab(op, route.path, parsed["targetId"] as string | undefined);
        return operationOf(route.name)(op, input as never);
      };
      const body = await within(limit, route.what, run());
      return body instanceof Bytes ? { bytes: body.content, type: body.type } : { body };
    } catch (error) {
      throw await this.#explain(error, route, session);
    }
  }

  /** How long a request may take, ms. */
  limitMs(request: BrowserRequest): number {
    const matched = this.#routes.get(`${request.method} ${request.route}`);
    const asked = Number(matched?.check.merge(request)["timeoutMs"]);
    const limit = matched?.route.limitMs ?? 45_000;
    return limit + (asked > 0 ? Math.min(asked, 600_000) : 0);
  }

  /** What kind of browser a profile is; undefined for one that is not known. */
  async driver(profile: string | undefined): Promise<Profile["driver"] | undefined> {
    return (await this.#deps.profiles.all()).get(profile ?? this.#deps.profiles.defaultName)
      ?.driver;
  }

  async #explain(error: unknown, route: Route, session: Session): Promise<PorticoError> {
    const publicError = failure(error, route.what);
    publicError.message = plainText(publicError.message);
    // Of a browser that dies the tabs go first.
    if (
      publicError.code === "tab_not_found" &&
      route.path !== "/stop" &&
      !(await session.isAlive())
    ) {
      return errors.browserGone({ what: route.what }, { cause: error });
    }
    return publicError;
  }

  /** After a change of the policy: what it does not allow any more ends, and what follows is judged by it. */
  async recheck(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.recheck()));
  }

  /** Stops every browser for good: a request that is still on its way starts none. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.stop()));
  }
}
