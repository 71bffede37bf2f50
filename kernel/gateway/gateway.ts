/** Boots and stops the parts of a gateway in order: the only place that knows all of them. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { join } from "node:path";
import { Bus } from "../host/bus.ts";
import { keysAtNextStart } from "../config/compose.ts";
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
import { extensionDirs, listRoots } from "../host/extensions/roots.ts";
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
import { managementOf, stateOf } from "./services.ts";
import type { GatewayOptions } from "./options.ts";
import { createWorkload } from "./workload.ts";

/** Of events that the gateway emits of itself. */
const OWN_DOING = { principal: "owner" } as const;
const disposeTimeoutMs = 5_000;
/** Each plugin's clean-up has limits of its own; this is for what may stand before them in the queue. */
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
  // They are read before the plugins are known, without whom the whole cannot be checked.
  for (const section of Object.keys(kernelSchemas)) config.section(section);
  const paths = withWorkspace(options.paths, config.raw, config.env);
  await createHome(paths);
  gateway = new Gateway(options, config, paths);
  await gateway.start();
  return gateway;
}

export class Gateway {
  readonly version: string;
  /** New at each start; the workers of a gateway share one. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  readonly bus;
  readonly log;
  readonly plugins;
  readonly hooks;
  readonly servers;
  /** True when the token was made at this start. */
  tokenIsNew = false;
  readonly #options: GatewayOptions;
  readonly #services = createServices();
  readonly #contributions = createContributions();
  readonly #work = createWorkload();
  readonly #undos: (() => unknown)[] = [];
  /** Lets in the requests that have come since it listens. */
  #open = () => {};
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
      this.#open = resolve;
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
        mount: servers.own,
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

  /** What the contexts of all plugins share. */
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
        extensionRoots: () => extensionDirs(paths, config.kernel.hooks.extraDirs),
        evaluated: () => loader.evaluated(),
      }),
    };
  }

  get url(): string {
    return this.servers.url();
  }

  /** The owner's token; undefined where only a password is set. */
  get token(): string | undefined {
    return this.#settings.auth.token;
  }

  get #settings() {
    return this.config.kernel.gateway;
  }

  /** What plugins contribute to a point. */
  readonly list = this.#contributions.list;

  /** What enabled plugins add to a point, as they declare it or have added it; undefined where that is not known. */
  namesAt(point: string): string[] | undefined {
    const { names, isComplete } = this.plugins.declaredNames(point);
    const items = this.#contributions.list(point as ContributionPoint) as { name?: string }[];
    if (!isComplete && items.length === 0) return undefined;
    return [...names, ...items.flatMap(({ name }) => name ?? [])];
  }

  /** A service that a plugin provides. Throws `service_unavailable` where none does. */
  use<K extends ServiceName>(name: K): Services[K] {
    return this.#services.use(name);
  }

  /** Serves a connection that another process has accepted. */
  readonly accept = (socket: Socket): void => this.servers.own.accept(socket);

  /** What is not ready, and why. */
  readonly notReady = (): { name: string; error: string }[] => [
    ...this.plugins.unready(),
    ...this.#work.unready(),
  ];

  /** Throws, with everything taken down again, where it cannot run. */
  async start(): Promise<void> {
    const { port, link } = this.#options;
    try {
      await this.#prepare();
      // Hooks judge what comes in: they are active before anything does, be it a request or a turn that is taken up again.
      await this.hooks.prepare();
      await this.hooks.start();
      await this.servers.listen(port ?? this.#settings.port, link?.port);
      await this.plugins.start();
      mountHealth(this.servers.own, this);
      this.#open();
      link?.onLook((subject) => this.#look(subject));
      this.#tellCommands();
      this.#undos.push(
        await this.config.watch((change) => this.#applyConfig(change), this.log.log),
      );
      const bound = this.servers.own.port;
      void this.bus.emit("gateway:startup", { version: this.version, port: bound }, OWN_DOING);
      this.log.log.info({ port: bound, ms: Date.now() - this.startedAt }, "portico is running");
    } catch (error) {
      await this.#dismantle();
      throw error;
    }
  }

  /** Checks what is configured, and provides what plugins find at their setup. */
  async #prepare(): Promise<void> {
    const { config, log } = this;
    const { link } = this.#options;
    await this.plugins.prepare();
    checkAtStart(config, log.log);
    log.log.level = config.kernel.log.level;
    for (const notice of exposureNotices(this.#settings)) log.log.warn({}, notice);
    this.tokenIsNew = (await ensureToken(config)) || link?.tokenIsNew === true;
    for (const secret of config.secrets()) log.addSecret(secret);
    this.#services.provide("host", managementOf(this));
    this.#services.provide("gateway", stateOf(this));
    if (link) this.#services.provide("workers", link.workers);
  }

  /** What this worker has of something that another one has a new version of. */
  async #look(subject: string) {
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
    for (const key of back ? [] : keysAtNextStart(config.composed, keys))
      log.log.warn({ key }, `${key} takes effect at the next start`);
    await this.plugins.reconfigure(keys);
    await this.hooks.reconfigure(keys);
    if (!back && keys.length > 0) void this.bus.emit("config:changed", { keys }, OWN_DOING);
    // Not awaited: it waits for this change. Without a token nobody could get in.
    if (!this.#options.link?.workers.index)
      ensureToken(config).catch((err: Error) => log.log.error({ err }, err.message));
  }

  /** Lets the command line find this gateway, whatever port it was started on. */
  #tellCommands(): void {
    const { link } = this.#options;
    if (link && link.workers.index > 0) return;
    const { tls } = this.#settings;
    const { port } = this.servers.own;
    const pid = link ? process.ppid : process.pid;
    const trace = {
      pid,
      began: beganAt(pid),
      port,
      url: this.url,
      cert: tls && absolutePath(tls.cert),
    };
    const undo = leaveTrace(this.paths.state, trace, this.log.log);
    // the first of several workers is replaced under its number, and the file stays
    if (!link) this.#undos.push(undo);
  }

  /** Resolves when running responses, turns and plugins have ended, at the latest after `gateway.shutdownTimeoutMs`. */
  stop(reason: string): Promise<void> {
    this.#stopping ??= (async () => {
      const graceMs = this.#settings.shutdownTimeoutMs;
      this.log.log.info({ reason }, "portico is stopping");
      void this.bus.emit("gateway:shutdown", { reason }, OWN_DOING);
      await endOrLate(
        Promise.all([this.servers.drain(graceMs), this.#work.ended(), this.bus.drain()]),
        graceMs,
      );
      await this.#dismantle();
    })();
    return this.#stopping;
  }

  /** Takes down whatever there is by now, the latest first. */
  async #dismantle(): Promise<void> {
    await endOrLate(this.hooks.stop(), disposeTimeoutMs);
    await endOrLate(this.plugins.stop(), pluginsTimeoutMs);
    await endOrLate(this.servers.own.close(0), disposeTimeoutMs);
    for (const undo of this.#undos.reverse())
      await endOrLate(Promise.resolve().then(undo), disposeTimeoutMs);
    await this.log.close();
  }
}
