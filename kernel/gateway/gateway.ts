/** Starts and stops the parts of a gateway in order. Only this module knows all of them. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { join } from "node:path";
import { Bus } from "../host/bus.ts";
import { findKeysAtNextStart } from "../config/compose.ts";
import type { ConfigChange } from "../config/diff.ts";
import { type ConfigStore, openConfig } from "../config/config.ts";
import { envFileIn } from "../config/environment.ts";
import { historyFileFor } from "../config/history.ts";
import { kernelSchemas } from "../config/schema.ts";
import { ensureToken } from "../config/token.ts";
import { endOrLate } from "../timing/deadline.ts";
import { HookHost } from "../host/extensions/hooks/host.ts";
import type { PluginParts } from "../host/extensions/plugins/context.ts";
import { PluginHost } from "../host/extensions/plugins/host.ts";
import { createProtection } from "../host/extensions/protection.ts";
import { listExtensionDirs, listRoots } from "../host/extensions/roots.ts";
import { lookUp } from "../text/key-path.ts";
import { createLog } from "../log/log.ts";
import { absolutePath, createHome } from "../files/paths.ts";
import { beganAt, leaveTrace } from "../home/running.ts";
import { createContributions, createServices } from "../host/registry.ts";
import { withWorkspace } from "../config/workspace.ts";
import type {
  ContributionPoint,
  EventName,
  EventSpec,
  Paths,
  ServiceName,
  Services,
} from "../contract/index.ts";
import { checkAtStart, exposureNotices } from "./checks.ts";
import { kernelEvents } from "./events.ts";
import { mountHealth } from "./routes.ts";
import { createServers, type GatewayServers } from "./servers.ts";
import { createManagement, createGatewayState } from "./services.ts";
import type { GatewayOptions } from "./options.ts";
import { createWorkload } from "./workload.ts";

/** The options of events that the gateway emits by itself. */
const AS_OWNER = { principal: "owner" } as const;
const disposeTimeoutMs = 5_000;
/** Each plugin's clean-up has its own limits; this one covers the jobs that may precede them in the queue. */
const pluginsTimeoutMs = 30_000;

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, link } = options;
  const { config: file, home } = options.paths;
  let gateway: Gateway | undefined;
  const config = await openConfig({
    file,
    env,
    envFile: envFileIn(home),
    link,
    historyFile: historyFileFor(home, options.paths.state, file),
    paths: options.paths,
    names: (point) => gateway?.namesAt(point),
  });
  // Only the kernel's sections are read here, because the whole configuration cannot be checked before the plugins are
  // known.
  for (const section of Object.keys(kernelSchemas)) config.section(section);
  const paths = withWorkspace(options.paths, config.raw, config.env);
  await createHome(paths);
  gateway = new Gateway(options, config, paths);
  await gateway.start();
  return gateway;
}

export class Gateway {
  readonly version: string;
  /** New at each start; the workers of a gateway share it. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  readonly bus;
  readonly log;
  readonly plugins;
  readonly hooks;
  readonly servers;
  /** True if the token was generated at this start. */
  tokenIsNew = false;
  readonly #options: GatewayOptions;
  readonly #services = createServices();
  readonly #contributions = createContributions();
  readonly #work = createWorkload();
  readonly #undos: (() => unknown)[] = [];
  /** Releases the requests that have arrived since the server began to listen. */
  #releaseRequests = () => {};
  #stopping: Promise<void> | undefined;

  constructor(
    options: GatewayOptions,
    readonly config: ConfigStore,
    readonly paths: Paths,
  ) {
    const { version, loader, link, only } = options;
    this.#options = options;
    this.version = version;
    this.id = link?.workers.gateway ?? randomUUID();
    this.log = createLog({
      file: config.kernel.log.file ?? join(paths.state, "logs", "portico.log"),
      write: options.write,
    });
    const { log, access } = this.log;
    const bus = new Bus(log);
    this.bus = bus;
    for (const [name, spec] of Object.entries(kernelEvents))
      bus.declare(name as EventName, spec as EventSpec);
    const contributions = this.#contributions;
    const opens = new Promise<void>((resolve) => {
      this.#releaseRequests = resolve;
    });
    const servers = createServers({
      config,
      contributions,
      log,
      access,
      opens,
      workers: link?.workers,
    });
    this.servers = servers;
    this.plugins = new PluginHost({
      roots: () => listRoots("plugins", paths, config.kernel.plugins),
      loader,
      parts: {
        common: this.#commonMembers(servers),
        log,
        bus,
        services: this.#services,
        contributions,
        mount: servers.mainServer,
        config,
        openServer: servers.pool.open,
        addReadiness: this.#work.addReadiness,
      },
      enabled: (name) =>
        only?.includes(name) ?? config.kernel.plugins.entries[name]?.enabled !== false,
      agree: link?.agree,
    });
    this.hooks = new HookHost({
      paths,
      env: () => config.env,
      log,
      bus,
      members: () => contributions.list("hookContext"),
      memberNames: () => this.plugins.hookMembers(),
      settings: () => config.kernel.hooks,
      lookup: (key) => lookUp(config.current, key),
      secrets: () => config.secrets(),
      loader,
      agree: link?.agree,
    });
  }

  /** Returns the members that the contexts of all plugins share. */
  #commonMembers({ url, ports }: GatewayServers): PluginParts["common"] {
    const { config, paths, version } = this;
    const { loader } = this.#options;
    return {
      version,
      paths,
      url,
      ports,
      secrets: () => config.secrets(),
      busy: this.#work.busy,
      load: (file, limitMs) => loader.load(file, limitMs),
      whyProtected: createProtection({
        paths,
        extensionRoots: () => listExtensionDirs(paths, config.kernel.hooks.extraDirs),
        evaluated: () => loader.evaluated(),
      }),
    };
  }

  get url(): string {
    return this.servers.url();
  }

  /** The owner's token; undefined if only a password is set. */
  get token(): string | undefined {
    return this.#settings.auth.token;
  }

  get #settings() {
    return this.config.kernel.gateway;
  }

  /** Returns the contributions to a point. */
  readonly list = this.#contributions.list;

  /**
   * Returns the names of contributions to a point, declared by enabled plugins or added; undefined if they are unknown.
   */
  namesAt(point: string): string[] | undefined {
    const { names, isComplete } = this.plugins.declaredNames(point);
    const items = this.#contributions.list(point as ContributionPoint) as { name?: string }[];
    if (!isComplete && items.length === 0) return undefined;
    return [...names, ...items.flatMap(({ name }) => name ?? [])];
  }

  /** Returns a service that a plugin provides. Throws `service_unavailable` if none does. */
  use<K extends ServiceName>(name: K): Services[K] {
    return this.#services.use(name);
  }

  /** Serves a connection that another process has accepted. */
  readonly accept = (socket: Socket): void => this.servers.mainServer.accept(socket);

  /** Returns what is not ready, and why. */
  readonly notReady = (): { name: string; error: string }[] => [
    ...this.plugins.unready(),
    ...this.#work.unready(),
  ];

  /** Starts the gateway. If that fails, stops every part again and throws. */
  async start(): Promise<void> {
    const { port, link } = this.#options;
    try {
      await this.#prepare();
      // Hooks must be active before anything arrives that they judge, whether a request or a resumed turn.
      await this.hooks.prepare();
      await this.hooks.start();
      await this.servers.listen(port ?? this.#settings.port, link?.port);
      await this.plugins.start();
      mountHealth(this.servers.mainServer, this);
      this.#releaseRequests();
      link?.onLook((subject) => this.#refreshSubject(subject));
      this.#leaveTrace();
      this.#undos.push(
        await this.config.watch((change) => this.#applyConfig(change), this.log.log),
      );
      const bound = this.servers.mainServer.port;
      void this.bus.emit("gateway:startup", { version: this.version, port: bound }, AS_OWNER);
      this.log.log.info({ port: bound, ms: Date.now() - this.startedAt }, "portico is running");
    } catch (error) {
      await this.#stopParts();
      throw error;
    }
  }

  /** Checks the configuration, and provides the services that plugins use in their setup. */
  async #prepare(): Promise<void> {
    const { config, log } = this;
    const { link } = this.#options;
    await this.plugins.prepare();
    checkAtStart(config, log.log);
    log.log.level = config.kernel.log.level;
    for (const notice of exposureNotices(this.#settings)) log.log.warn({}, notice);
    this.tokenIsNew = (await ensureToken(config)) || link?.tokenIsNew === true;
    for (const secret of config.secrets()) log.addSecret(secret);
    this.#services.provide("host", createManagement(this));
    this.#services.provide("gateway", createGatewayState(this));
    if (link) this.#services.provide("workers", link.workers);
  }

  /** Refreshes a subject of which another worker has a new version, and returns the version that this worker runs. */
  async #refreshSubject(subject: string) {
    const [kind, name] = [
      subject.slice(0, subject.indexOf(".")),
      subject.slice(subject.indexOf(".") + 1),
    ];
    if (subject === "config") {
      await this.config.refresh();
      return { id: this.config.id, problem: this.config.problem?.message };
    }
    const host = kind === "hooks" ? this.hooks : this.plugins;
    await host.rescan();
    return host.current(name);
  }

  async #applyConfig({ keys, back }: ConfigChange): Promise<void> {
    const { config, log } = this;
    log.log.level = config.kernel.log.level;
    for (const secret of config.secrets()) log.addSecret(secret);
    for (const key of back ? [] : findKeysAtNextStart(config.composed, keys))
      log.log.warn({ key }, `${key} takes effect at the next start of the gateway`);
    await this.plugins.reconfigure(keys);
    await this.hooks.reconfigure(keys);
    if (!back && keys.length > 0) void this.bus.emit("config:changed", { keys }, AS_OWNER);
    // This is not awaited, because it waits for the current change. Without a token nobody could connect.
    if (!this.#options.link?.workers.index)
      ensureToken(config).catch((err: Error) => log.log.error({ err }, err.message));
  }

  /** Writes the file by which the command line finds this gateway, whatever its port. */
  #leaveTrace(): void {
    const { link } = this.#options;
    if (link && link.workers.index > 0) return;
    const { tls } = this.#settings;
    const { port } = this.servers.mainServer;
    const pid = link ? process.ppid : process.pid;
    const trace = {
      pid,
      began: beganAt(pid),
      port,
      url: this.url,
      cert: tls && absolutePath(tls.cert),
    };
    const undo = leaveTrace(this.paths.state, trace, this.log.log);
    // With several workers, the first may be replaced by a new process, and the file must stay.
    if (!link) this.#undos.push(undo);
  }

  /** Stops the gateway. Requests and turns in progress have `gateway.shutdownTimeoutMs` to end. */
  stop(reason: string): Promise<void> {
    this.#stopping ??= (async () => {
      const graceMs = this.#settings.shutdownTimeoutMs;
      this.log.log.info({ reason }, "portico is stopping");
      void this.bus.emit("gateway:shutdown", { reason }, AS_OWNER);
      await endOrLate(
        Promise.all([this.servers.drain(graceMs), this.#work.whenEnded(), this.bus.drain()]),
        graceMs,
      );
      await this.#stopParts();
    })();
    return this.#stopping;
  }

  /** Stops every part that has been started, the latest first. */
  async #stopParts(): Promise<void> {
    await endOrLate(this.hooks.stop(), disposeTimeoutMs);
    await endOrLate(this.plugins.stop(), pluginsTimeoutMs);
    await endOrLate(this.servers.mainServer.close(0), disposeTimeoutMs);
    for (const undo of this.#undos.reverse())
      await endOrLate(Promise.resolve().then(undo), disposeTimeoutMs);
    await this.log.close();
  }
}
