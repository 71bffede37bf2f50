/** Boots and stops the parts of a gateway in order: the only place that knows all of them. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBus } from "../bus.ts";
import { takesEffectAtNextStart } from "../config/compose.ts";
import type { ConfigChange } from "../config/diff.ts";
import { openConfig } from "../config/config.ts";
import { envFileIn } from "../config/environment.ts";
import { maskSecrets } from "../config/secrets.ts";
import { ensureToken } from "../config/token.ts";
import { endOrLate } from "../timing/deadline.ts";
import { createHookHost } from "../extensions/hooks/host.ts";
import { createPluginHost } from "../extensions/plugins/host.ts";
import { rootsOf } from "../extensions/roots.ts";
import { lookUp, parseKeyPath } from "../text/key-path.ts";
import { createLog } from "../log/log.ts";
import { absolutePath, createHome } from "../files/paths.ts";
import { createContributions, createServices } from "../registry.ts";
import { withWorkspace } from "../files/workspace.ts";
import type { Management } from "./services.ts";
import { checkAtStart, exposureNotices, refuseOpenDoor } from "./checks.ts";
import { declareKernelEvents } from "./events.ts";
import { mountHealth } from "./routes.ts";
import { createServers } from "./servers.ts";
import type { Gateway, GatewayOptions } from "./types.ts";
import { createWorkload } from "./workload.ts";

const disposeTimeoutMs = 5_000;
/** Each plugin's clean-up has limits of its own; this is for what may stand before them in the queue. */
const pluginsTimeoutMs = 30_000;

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { version, loader, link } = options;
  const startedAt = Date.now();
  const isFirst = link === undefined || link.workers.index === 0;
  const config = await openConfig({
    file: options.paths.config,
    env: options.env,
    envFile: envFileIn(options.paths.home),
    link,
  });
  const paths = withWorkspace(options.paths, config.raw, config.env);
  await createHome(paths);
  const logBook = createLog({
    file: config.kernel.log.file ?? join(paths.state, "logs", "portico.log"),
    movesFile: isFirst,
    write: options.write,
  });
  const { log } = logBook;
  const bus = createBus(log);
  declareKernelEvents(bus);
  const services = createServices();
  const contributions = createContributions();
  const undos: (() => unknown)[] = [];
  const work = createWorkload();
  let open = () => {};
  const opens = new Promise<void>((resolve) => {
    open = resolve;
  });
  const servers = createServers({ config, contributions, log, access: logBook.access, opens, workers: link?.workers });
  const server = servers.own;
  const settings = () => config.kernel.gateway;

  const plugins = createPluginHost({
    roots: () => rootsOf("plugins", paths, config.kernel.plugins),
    loader,
    parts: {
      version,
      paths,
      log,
      bus,
      services,
      contributions,
      mount: server,
      config,
      url: servers.url,
      ports: servers.ports,
      openServer: servers.pool.open,
      busy: work.busy,
      addReadiness: work.addReadiness,
      load: loader.load,
    },
    enabled: (name) =>
      options.only === undefined ? config.kernel.plugins.entries[name]?.enabled !== false : options.only.includes(name),
    agree: link?.agree,
  });
  const hooks = createHookHost({
    paths,
    env: () => config.env,
    log,
    bus,
    members: () => contributions.list("hookContext"),
    memberNames: plugins.hookMembers,
    settings: () => config.kernel.hooks,
    lookup: (key) => lookUp(config.current, key),
    secrets: () => config.secrets(),
    loader,
    agree: link?.agree,
  });

  const management: Management = {
    version,
    startedAt,
    paths,
    url: servers.url,
    servers: servers.pool.urls,
    notReady: unready,
    events: bus.specs,
    config: {
      problem: () => config.problem,
      refresh: () => config.refresh(),
      set: async (path, value) => void (await config.set(path, value)),
      unset: async (path) => void (await config.unset(path)),
      schema: () => config.composed,
      shown: () => maskSecrets(config.current, config.composed),
    },
    log: { recent: () => logBook.recent(), follow: (line) => logBook.follow(line) },
    plugins,
    hooks,
  };

  let token: { token?: string; generated: boolean };
  try {
    await plugins.prepare();
    checkAtStart(config, log);
    logBook.setLevel(config.kernel.log.level);
    refuseOpenDoor(settings());
    for (const notice of exposureNotices(settings())) log.warn({}, notice);
    contributions.add("notice", { name: "gateway", list: () => exposureNotices(settings()) });
    token = await ensureToken(config);
    for (const secret of config.secrets()) logBook.addSecret(secret);
    services.provide("host", management);
    if (link) services.provide("workers", link.workers);
    services.provide("gateway", {
      startedAt,
      notReady: unready,
      plugins: plugins.list,
      hooks: () => hooks.list().map(({ name, state, root, health }) => ({ name, state, root, ...health })),
      requests: server.requests,
      active: () => server.active,
      routes: () => [{ server: "gateway", url: servers.url(), routes: server.routes() }, ...servers.pool.routes()],
    });
    // Hooks judge what comes in: they are active before anything does, be it a request or a turn that is taken up again.
    await hooks.prepare();
    await hooks.start();
    await servers.listen(options.port ?? settings().port, link?.port);
  } catch (error) {
    await dismantle();
    throw error;
  }

  let stopping: Promise<void> | undefined;
  const gateway: Gateway = {
    get url() {
      return servers.url();
    },
    get port() {
      return server.port;
    },
    get token() {
      return settings().auth.token;
    },
    tokenIsNew: token.generated || link?.tokenIsNew === true,
    get servers() {
      return servers.pool.urls();
    },
    log: logBook,
    config,
    plugins,
    hooks,
    bus,
    list: contributions.list,
    use: (name) => services.use(name),
    accept: server.accept,
    stop: (reason) => (stopping ??= stop(reason)),
  };

  try {
    await plugins.start();
    mountHealth(server, management);
    open();
    link?.onLook(seen);
    // the first of several is replaced under its number, and the file stays
    if (link === undefined) undos.push(leaveTrace());
    else if (isFirst) leaveTrace();
    undos.push(await config.watch(applyConfig, log));
    void bus.emit("gateway:startup", { version, port: server.port });
    log.info({ port: server.port, ms: Date.now() - startedAt }, "portico is running");
    return gateway;
  } catch (error) {
    await dismantle();
    throw error;
  }

  function unready(): { name: string; error: string }[] {
    return [...plugins.unready(), ...work.unready()];
  }

  /** What this worker has of something that another one has a new version of. */
  async function seen(subject: string) {
    const [kind, name] = [subject.slice(0, subject.indexOf(".")), subject.slice(subject.indexOf(".") + 1)];
    if (subject === "config") {
      await config.refresh();
      return { id: config.id, problem: config.problem?.message };
    }
    const host = kind === "hooks" ? hooks : plugins;
    await host.rescan();
    return host.current(name);
  }

  async function applyConfig({ keys, back }: ConfigChange): Promise<void> {
    logBook.setLevel(config.kernel.log.level);
    for (const secret of config.secrets()) logBook.addSecret(secret);
    for (const key of keys) {
      if (!back && takesEffectAtNextStart(config.composed, parseKeyPath(key)))
        log.warn({ key }, `${key} takes effect at the next start`);
    }
    await plugins.reconfigure(keys);
    await hooks.reconfigure(keys);
    if (!back) void bus.emit("config:changed", { keys });
  }

  /** Lets the command line find this gateway, whatever port it was started on. */
  function leaveTrace(): () => void {
    const file = join(paths.state, "gateway.json");
    const { tls } = settings();
    const cert = tls && absolutePath(tls.cert);
    const trace = { pid: link ? process.ppid : process.pid, port: server.port, url: servers.url(), cert };
    try {
      rmSync(file, { force: true }); // an earlier one may be another user's
      writeFileSync(file, JSON.stringify(trace), { mode: 0o600 });
    } catch (error) {
      log.warn({ err: error, file }, "commands will not find this gateway by themselves: give them --url and --token");
    }
    return () => rmSync(file, { force: true });
  }

  async function stop(reason: string): Promise<void> {
    const graceMs = settings().shutdownTimeoutMs;
    log.info({ reason }, "portico stops");
    void bus.emit("gateway:shutdown", { reason });
    await endOrLate(Promise.all([servers.drain(graceMs), work.ended(), bus.drain()]), graceMs);
    await dismantle();
  }

  /** Takes down whatever there is by now, the latest first. */
  async function dismantle(): Promise<void> {
    await endOrLate(hooks.stop(), disposeTimeoutMs);
    await endOrLate(plugins.stop(), pluginsTimeoutMs);
    await endOrLate(server.close(0), disposeTimeoutMs);
    for (const undo of undos.reverse()) await endOrLate(Promise.resolve().then(undo), disposeTimeoutMs);
    await logBook.close();
  }
}
