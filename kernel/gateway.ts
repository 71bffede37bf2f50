/** Boots and stops the parts of a gateway in order: the only place that knows all of them. */
import { rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Type } from "@sinclair/typebox";
import { type Bus, createBus } from "./bus.ts";
import { type ConfigStore, openConfig } from "./config/config.ts";
import { ConfigError, type ConfigProblem } from "./config/error.ts";
import { ensureToken } from "./config/token.ts";
import { PorticoError } from "./errors.ts";
import { declareKernelEvents } from "./events.ts";
import { loadBounded } from "./extensions/bounded-load.ts";
import type { PluginParts } from "./plugins/context.ts";
import { pluginRoots } from "./plugins/definitions.ts";
import type { Loader } from "./extensions/load.ts";
import { createPluginHost, type PluginHost } from "./plugins/host.ts";
import { watchRoots } from "./extensions/watch.ts";
import { createHookHost, type HookHost } from "./hooks/host.ts";
import { parseKeyPath, valueAt } from "./key-path.ts";
import { createAuth } from "./http/auth.ts";
import { createServerPool } from "./http/pool.ts";
import { createServer } from "./http/server.ts";
import { createLog, type LogBook } from "./log.ts";
import { createContributions, createServices } from "./registry.ts";
import { mountKernelRoutes } from "./routes.ts";
import { openStore } from "./store/index.ts";
import { createHome } from "./paths.ts";
import type { Paths, ServiceName, Services } from "./types.ts";

export interface GatewayOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  version: string;
  loader: Loader;
  /** Replaces `gateway.port` of the configuration. */
  port?: number;
  /** Only these plugins run; the others are known (their configuration is checked) and stay off. */
  only?: readonly string[];
  /** Where log lines go beside the log file. */
  write?: (line: string) => void;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** The owner's token; undefined where only a password is set. */
  readonly token: string | undefined;
  /** True when the token was made at this start. */
  readonly tokenIsNew: boolean;
  /** The loopback servers that plugins opened, by name. */
  readonly servers: Readonly<Record<string, string>>;
  readonly log: LogBook;
  readonly config: ConfigStore;
  readonly plugins: PluginHost;
  readonly hooks: HookHost;
  readonly bus: Bus;
  /** A service that a plugin provides. Throws `service_unavailable` where none does. */
  use<K extends ServiceName>(name: K): Services[K];
  /** Resolves when running answers, turns and plugins have ended, at the latest after `gateway.shutdownTimeoutMs`. */
  stop(reason: string): Promise<void>;
}

/** What `/kernel/*` shows and steers. */
export interface GatewayParts extends Omit<Gateway, "stop" | "use" | "token" | "tokenIsNew" | "servers"> {
  startedAt: number;
  version: string;
  paths: Paths;
  servers(): Record<string, string>;
  unready(): { name: string; error: string }[];
}

const disposeTimeoutMs = 5_000;

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { version, loader } = options;
  const startedAt = Date.now();
  const config = await openConfig({ file: options.paths.config, env: options.env });
  const paths = withWorkspace(options.paths, config);
  await createHome(paths);
  const logBook = createLog({
    file: config.kernel.log.file ?? join(paths.state, "logs", "portico.log"),
    write: options.write,
  });
  const { log } = logBook;
  const bus = createBus(log);
  declareKernelEvents(bus);
  const services = createServices();
  const contributions = createContributions();
  const undos: (() => unknown)[] = [];
  const running = new Set<Promise<unknown>>();
  const readiness = new Map<object, { name: string; check: () => string | undefined }>();

  const settings = () => config.kernel.gateway;
  const auth = createAuth({
    settings: () => settings().auth,
    authenticators: () => contributions.list("authenticator"),
    log,
  });
  const httpSettings = onceFor(settings, (gateway) => ({ ...gateway.http, trustedProxies: gateway.trustedProxies }));
  const server = createServer({ name: "gateway", log, settings: httpSettings, auth });
  const servers = createServerPool({
    create: ({ name, origins }) =>
      createServer({ name, log, settings: httpSettings, auth, loopbackOnly: true, origins: origins ?? [] }),
    portFor: (offset) => (wantedPort === 0 ? 0 : server.port + offset),
  });
  const url = () => `http://${hostForUrl(settings().bind)}:${server.port}`;

  const parts: PluginParts = {
    version,
    paths,
    log,
    bus,
    services,
    contributions,
    mount: server,
    config,
    anySchema: Type.Optional(Type.Any()),
    url,
    ports: () => [server.port, ...servers.ports()],
    openServer: servers.open,
    busy(work) {
      running.add(work);
      const done = () => void running.delete(work);
      work.then(done, done);
      return work;
    },
    addReadiness(name, check) {
      const key = {};
      readiness.set(key, { name, check });
      return () => void readiness.delete(key);
    },
    load: (file, limitMs) => loadBounded(loader, file, limitMs),
  };
  const plugins = createPluginHost({
    roots: () => pluginRoots(paths, config.kernel.plugins.trust),
    loader,
    parts,
    enabled: (name) =>
      options.only === undefined ? config.kernel.plugins.entries[name]?.enabled !== false : options.only.includes(name),
  });
  const hooks = createHookHost({
    paths,
    env: options.env,
    log,
    bus,
    services,
    config: {
      get kernel() {
        return config.kernel;
      },
      get: (key) => valueAt(config.current, parseKeyPath(key)),
      set: (key, value) => config.set(key, value),
      secrets: () => config.secrets(),
    },
    loader,
  });

  let wantedPort = 0;
  let token: { token?: string; generated: boolean };
  try {
    await plugins.prepare();
    checkAtStart();
    logBook.setLevel(config.kernel.log.level);
    refuseOpenDoor(settings());
    token = await ensureToken(config);
    for (const secret of config.secrets()) logBook.addSecret(secret);
    const store = openStore({ url: config.kernel.store.url ?? `file:${join(paths.state, "portico.db")}`, log });
    undos.push(() => store.close());
    services.provide("store", store);
    services.provide("gateway", {
      startedAt,
      notReady: unready,
      plugins: plugins.list,
      hooks: hooks.list,
      requests: server.requests,
      active: () => server.active,
    });
    wantedPort = options.port ?? settings().port;
    await server.listen(wantedPort, settings().bind);
  } catch (error) {
    await logBook.close();
    throw error;
  }

  /** What the file says must be right. A section that it lacks is its plugin's affair: that one fails alone. */
  function checkAtStart(): void {
    try {
      config.check();
    } catch (error) {
      const isLack = ({ key }: ConfigProblem) =>
        key !== "" && valueAt(config.raw, parseKeyPath(key).slice(0, 1)) === undefined;
      if (!(error instanceof ConfigError && error.problems.every(isLack))) throw error;
      log.warn({ err: error }, `incomplete configuration: ${error.message}`);
    }
  }

  let stopping: Promise<void> | undefined;
  const gateway: Gateway = {
    get url() {
      return url();
    },
    get port() {
      return server.port;
    },
    get token() {
      return settings().auth.token;
    },
    tokenIsNew: token.generated,
    get servers() {
      return servers.urls();
    },
    log: logBook,
    config,
    plugins,
    hooks,
    bus,
    use: (name) => services.use(name),
    stop: (reason) => (stopping ??= stop(reason)),
  };

  await plugins.start();
  await hooks.start();
  mountKernelRoutes(server, {
    ...gateway,
    url: gateway.url,
    port: server.port,
    startedAt,
    version,
    paths,
    servers: servers.urls,
    unready,
  });
  undos.push(leaveTrace());
  undos.push(await config.watch(applyConfig, log));
  undos.push(watchPlugins());
  void bus.emit("gateway:startup", { version, port: server.port });
  log.info({ port: server.port, ms: Date.now() - startedAt }, "portico is running");
  return gateway;

  function unready(): { name: string; error: string }[] {
    const waiting = [...readiness.values()].flatMap(({ name, check }) => {
      const error = check();
      return error ? [{ name, error }] : [];
    });
    return [...plugins.unready(), ...waiting];
  }

  async function applyConfig({ keys }: { keys: string[] }): Promise<void> {
    logBook.setLevel(config.kernel.log.level);
    for (const secret of config.secrets()) logBook.addSecret(secret);
    for (const key of ["gateway.port", "gateway.bind", "store.url"]) {
      if (keys.includes(key)) log.warn({ key }, `${key} takes effect at the next start`);
    }
    await plugins.reconfigure(keys);
    await hooks.reconfigure(keys);
    void bus.emit("config:changed", { keys });
  }

  /** The package's own plugins change with an update, which is a restart; those of the user while we run. */
  function watchPlugins(): () => Promise<void> {
    const roots = pluginRoots(paths, config.kernel.plugins.trust).filter((root) => root.name !== "bundled");
    const rescan = () => plugins.rescan().catch((error) => log.error({ err: error }, "plugins could not be rescanned"));
    const watch = watchRoots({ roots: roots.map((root) => root.dir), onDirty: () => void rescan(), log });
    return () => watch.close();
  }

  /** Lets the command line find this gateway, whatever port it was started on. */
  function leaveTrace(): () => void {
    const file = join(paths.state, "gateway.json");
    const trace = { pid: process.pid, port: server.port, url: url() };
    writeFileSync(file, JSON.stringify(trace), { mode: 0o600 });
    return () => rmSync(file, { force: true });
  }

  async function stop(reason: string): Promise<void> {
    const graceMs = settings().shutdownTimeoutMs;
    log.info({ reason }, "portico stops");
    void bus.emit("gateway:shutdown", { reason });
    await within(
      graceMs,
      Promise.all([server.close(graceMs), servers.closeAll(graceMs), Promise.allSettled([...running]), bus.drain()]),
    );
    await within(disposeTimeoutMs, hooks.stop());
    await within(disposeTimeoutMs, plugins.stop());
    for (const undo of undos.reverse()) await within(disposeTimeoutMs, Promise.resolve(undo()));
    await logBook.close();
  }
}

/** `--workspace` wins over `agents.defaults.workspace`, which decides where the workspace's hooks and plugins are too. */
function withWorkspace(paths: Paths, config: ConfigStore): Paths {
  const { agents } = config.raw as { agents?: { defaults?: { workspace?: unknown } } };
  const configured = agents?.defaults?.workspace;
  if (typeof configured !== "string" || paths.workspace !== join(paths.home, "workspace")) return paths;
  return { ...paths, workspace: resolve(configured.replace(/^~(?=\/|$)/, homedir())) };
}

/** A token made at this start does not count: whoever opens the door to others shall have chosen the key. */
function refuseOpenDoor({ bind, auth }: { bind: string; auth: { token?: string; password?: string } }): void {
  const isLoopback = bind === "localhost" || bind === "::1" || bind.startsWith("127.");
  if (isLoopback || auth.token || auth.password) return;
  throw new PorticoError(
    "config_error",
    `gateway.bind is ${bind}, which others can reach: set gateway.auth.token or gateway.auth.password in the configuration first.`,
  );
}

/** Derives anew only when the configuration was replaced: this is asked at every request. */
function onceFor<S, T>(source: () => S, derive: (from: S) => T): () => T {
  let last: { from: S; derived: T } | undefined;
  return () => {
    const from = source();
    if (last?.from !== from) last = { from, derived: derive(from) };
    return last.derived;
  };
}

function hostForUrl(bind: string): string {
  if (bind === "0.0.0.0" || bind === "::") return "127.0.0.1";
  return bind.includes(":") ? `[${bind}]` : bind;
}

/** Waits for the work, but no longer than `ms`; its errors are its own affair. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([
    work.then(
      () => {},
      () => {},
    ),
    late,
  ]);
  clearTimeout(timer);
}
