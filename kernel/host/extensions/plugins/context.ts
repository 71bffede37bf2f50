/** Creates the context that a plugin receives in `setup`. Every call registers its own undo in the plugin's scope. */
import type { Bus } from "../../bus.ts";
import type { ConfigStore } from "../../../config/config.ts";
import type { OpenServer } from "../../../http/pool.ts";
import type { ContributionRegistry, ServiceRegistry } from "../../registry.ts";
import { formatKeyPath } from "../../../text/key-path.ts";
import { isTimerMs } from "../../../timing/deadline.ts";
import type { Scope } from "../../../timing/scope.ts";
import type { ContributionPoints } from "./points.ts";
import type { PluginVersion } from "./candidate.ts";
import { errors } from "../errors.ts";
import { pluginMount } from "./mount.ts";
import { Registrar, requireHandler } from "./registrar.ts";
import { startTask } from "./task.ts";
import type {
  ContributionPoint,
  Contributions,
  Dispose,
  Logger,
  Mount,
  PluginContext,
  PluginDefinition,
  ServerHandle,
  ServerOptions,
  Tool,
} from "../../../contract/index.ts";

/** The parts of the gateway that plugins reach through their contexts. */
export interface PluginParts {
  /** The members that are the same for every plugin. */
  common: Pick<
    PluginContext,
    "version" | "paths" | "url" | "ports" | "secrets" | "busy" | "load" | "whyProtected"
  >;
  log: Logger;
  bus: Bus;
  services: ServiceRegistry;
  contributions: ContributionRegistry;
  points: ContributionPoints;
  mount: Mount;
  config: Pick<ConfigStore, "define" | "section" | "check" | "change">;
  /** Opens (or shares) the loopback server of that name. */
  openServer(options: ServerOptions): Promise<OpenServer>;
  addReadiness(name: string, check: () => string | undefined): Dispose;
}

/** Creates the context. Nothing that it registers takes effect before the setup has succeeded. */
export function createPluginContext(
  parts: PluginParts,
  definition: PluginDefinition,
  version: PluginVersion,
  scope: Scope,
): PluginContext {
  const { candidate, config = {} } = version;
  const { name } = definition;
  const log = parts.log.child({ plugin: name });
  const isTraced = candidate.root.name !== "bundled";
  const registrar = new Registrar({ name, log, scope, isTraced });
  return {
    ...parts.common,
    name,
    dir: candidate.realDir,
    config,
    log,
    signal: scope.signal,
    ...pluginMount(parts.mount, registrar),
    server: (options) => openPluginServer(parts, registrar, options),
    ...eventCalls(parts, registrar),
    ...serviceCalls(parts, registrar),
    ...contributionCalls(parts, registrar),
    ...lifecycleCalls(parts, registrar),
    onConfig(apply) {
      requireHandler("onConfig", apply);
      version.onConfig = registrar.attribute(apply);
    },
    keep: (key, create) => keepValue(version, key, create),
    setConfig: (path, value) => setConfig(parts, definition, path, value),
  };
}

async function openPluginServer(
  parts: PluginParts,
  registrar: Registrar,
  options: ServerOptions,
): Promise<ServerHandle> {
  const { server, release } = await parts.openServer(options);
  const undos = [registrar.add(`server ${options.name}`, release)];
  const mount = pluginMount(server, registrar, (label, register) => {
    const undo = registrar.stage(label, register);
    undos.push(undo);
    return undo;
  });
  return {
    port: server.port,
    url: server.url,
    ...mount,
    async close() {
      for (const undo of undos.reverse()) await undo();
    },
  };
}

function eventCalls(
  { bus, points }: PluginParts,
  registrar: Registrar,
): Pick<
  PluginContext,
  "event" | "on" | "onAny" | "emit" | "hasListeners" | "hasHandlers" | "declared"
> {
  const { owner, name, isTraced } = registrar;
  return {
    event: (event, spec) =>
      registrar.add(`event ${event}`, bus.declare(points.ownEvent(event, name), spec)),
    on(event, handler, options) {
      const label = `on ${event}`;
      requireHandler(label, handler);
      requireTime(label, "timeoutMs", options?.timeoutMs ?? 1);
      const registration = { ...options, owner, traced: isTraced };
      return registrar.stage(label, () => bus.on(event, handler, registration));
    },
    onAny(observer) {
      requireHandler("onAny", observer);
      return registrar.stage("on any event", () =>
        bus.onAny(observer as Parameters<Bus["onAny"]>[0]),
      );
    },
    emit: (name, context, options) => bus.emit(name, context, options),
    hasListeners: (name) => bus.hasListeners(name),
    hasHandlers: (name, selection) => bus.hasHandlers(name, selection),
    declared: (event) => bus.spec(event) !== undefined,
  };
}

function serviceCalls(
  { services }: PluginParts,
  registrar: Registrar,
): Pick<PluginContext, "provide" | "use" | "find"> {
  return {
    provide(service, value) {
      const label = `service ${service}`;
      const isObject = Object(value) === value;
      if (!isObject) throw errors.misusedCall({ call: label, why: "it must be an object" });
      return registrar.stage(label, () => services.provide(service, value));
    },
    use: (service) => services.use(service),
    find: (service) => services.find(service),
  };
}

function contributionCalls(
  { contributions, points }: PluginParts,
  registrar: Registrar,
): Pick<PluginContext, "add" | "list" | "watch" | "tool"> {
  function add<K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose {
    points.check(point, item);
    const { name } = item as { name?: unknown };
    const contributed = point === "tool" ? traceTool(item as Tool, registrar) : item;
    return registrar.stage(`${point} ${String(name)}`, () =>
      contributions.add(point, contributed as Contributions[K]),
    );
  }
  return {
    add,
    list: contributions.list,
    watch(point, onChange) {
      requireHandler(`watch ${point}`, onChange);
      const report = registrar.attribute(() => {
        // This runs while another plugin starts, which must not fail because of it.
        try {
          onChange();
        } catch (error) {
          registrar.log.error({ err: error, point }, `a watcher of ${point} failed`);
        }
      });
      return registrar.add(`watch ${point}`, contributions.watch(point, report));
    },
    tool: (tool) => add("tool", tool),
  };
}

function traceTool(tool: Tool, registrar: Registrar): Tool {
  if (!registrar.isTraced) return tool;
  const handler = registrar.attribute(tool.handler.bind(tool), (_args, call) => call.principal);
  return { ...tool, handler };
}

function lifecycleCalls(
  parts: PluginParts,
  registrar: Registrar,
): Pick<PluginContext, "task" | "defer" | "readiness"> {
  const { name, log } = registrar;
  return {
    task(task, times, run) {
      const label = `task ${task}`;
      requireHandler(label, run);
      requireTime(label, "everyMs", times?.everyMs);
      const attributedRun = registrar.attribute(run);
      return registrar.stage(label, () => startTask(log.child({ task }), times, attributedRun));
    },
    defer(undo) {
      requireHandler("defer", undo);
      registrar.add("clean-up", registrar.attribute(undo));
    },
    readiness(check) {
      requireHandler("readiness", check);
      return registrar.stage("readiness", () => parts.addReadiness(name, check));
    },
  };
}

async function setConfig(
  { config }: PluginParts,
  definition: PluginDefinition,
  path: readonly (string | number)[],
  value: unknown,
): Promise<void> {
  const sections = Object.keys(definition.config ?? {});
  if (!sections.some((section) => isBelow(path, section)))
    throw errors.foreignSection({ name: definition.name, key: formatKeyPath(path) });
  const edit = value === undefined ? { path, remove: true as const } : { path, value };
  await config.change([edit], { mayLeaveOut: true });
}

function keepValue<T extends object>(version: PluginVersion, key: string, create: () => T): T {
  version.keptData ??= new Map();
  const value = (version.keptData.get(key) as T | undefined) ?? create();
  version.keptData.set(key, value);
  return value;
}

/** Whether a path is within a section such as `channels.*`. */
function isBelow(path: readonly (string | number)[], section: string): boolean {
  return section
    .split(".")
    .every((step, index) => index < path.length && (step === "*" || step === path[index]));
}

/** Throws unless the value is a duration that a timer supports. */
function requireTime(call: string, name: string, ms: number | undefined): void {
  if (!isTimerMs(ms))
    throw errors.misusedCall({
      call,
      why: `its ${name} must be a number of milliseconds from 1 to 2000000000`,
    });
}
