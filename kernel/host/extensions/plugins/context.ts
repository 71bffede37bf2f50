/** What a plugin gets in `setup`: every call registers its own undo in the plugin's scope. */
import { setTimeout } from "node:timers/promises";
import type { Bus } from "../../bus.ts";
import type { ConfigStore } from "../../../config/config.ts";
import { PorticoError } from "../../../errors.ts";
import type { OpenServer } from "../../../http/pool.ts";
import { runAs } from "../../owner.ts";
import { principalOf } from "../../principals.ts";
import type { ContributionRegistry, ServiceRegistry } from "../../registry.ts";
import { formatKeyPath } from "../../../text/key-path.ts";
import { isTimerMs } from "../../../timing/deadline.ts";
import type { Scope } from "../../../timing/scope.ts";
import type { ContributionPoints } from "./points.ts";
import type { PluginVersion } from "./candidate.ts";
import type {
  ContributionPoint,
  Contributions,
  Dispose,
  Logger,
  Mount,
  PluginContext,
  PluginDefinition,
  Principal,
  ServerOptions,
  Tool,
} from "../../../contract/index.ts";

/** The parts of the gateway that contexts hand on. */
export interface PluginParts {
  /** What is the same in all of them. */
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

type TaskTimes = Parameters<PluginContext["task"]>[1];
type Stage = Scope["stage"];
type Wrap = <A extends unknown[], R>(
  work: (...args: A) => R,
  principalOfCall?: (...args: A) => Principal,
) => (...args: A) => R;

/** What must not take effect before the setup has succeeded is staged in the scope. */
export function createPluginContext(
  parts: PluginParts,
  definition: PluginDefinition,
  version: PluginVersion,
  scope: Scope,
): PluginContext {
  const { bus, services, contributions } = parts;
  const { candidate, config = {} } = version;
  const { name } = definition;
  const owner = `plugin:${name}`;
  const log = parts.log.child({ plugin: name });
  // The package's own plugins are not watched for stray errors: it costs every promise a little.
  const traced = candidate.root.name !== "bundled";
  /** `principalOfCall` says whom a call serves; without it, the plugin acts of itself, for the owner. */
  const owned: Wrap = (work, principalOfCall = () => "owner") => {
    if (!traced) return work;
    return (...args) => runAs(owner, () => work(...args), { principal: principalOfCall(...args) });
  };
  const stage: Stage = (label, register) => scope.stage(label, register);

  function contribute<K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose {
    parts.points.check(point, item);
    const contributed = point === "tool" ? ownedTool(item as Tool) : item;
    return stage(`${point} ${String((item as { name?: unknown }).name)}`, () =>
      contributions.add(point, contributed as Contributions[K]),
    );
  }

  function ownedTool(tool: Tool): Tool {
    if (!traced) return tool;
    const handler = owned(tool.handler.bind(tool), (_args, call) => call.principal);
    return { ...tool, handler };
  }

  return checked({
    ...parts.common,
    name,
    dir: candidate.realDir,
    config,
    log,
    signal: scope.signal,
    ...ownedMount(parts.mount, stage, owned),
    async server(serverOptions) {
      const { server, release } = await parts.openServer(serverOptions);
      const undos = [scope.add(`server ${serverOptions.name}`, release)];
      const effect: Stage = (label, register) => {
        const undo = stage(label, register);
        undos.push(undo);
        return undo;
      };
      return {
        port: server.port,
        url: server.url,
        ...ownedMount(server, effect, owned),
        async close() {
          for (const undo of undos.reverse()) await undo();
        },
      };
    },
    event: (event, spec) =>
      scope.add(`event ${event}`, bus.declare(parts.points.ownEvent(event, name), spec)),
    on(event, handler, on) {
      if (!isTimerMs(on?.timeoutMs ?? 1))
        throw misused(`on ${event}`, "its timeoutMs must be 1 to 2e9");
      return stage(`on ${event}`, () => bus.on(event, handler, { ...on, owner, traced }));
    },
    onAny: (observer) =>
      stage("on any event", () => bus.onAny(observer as Parameters<Bus["onAny"]>[0])),
    emit: bus.emit,
    hasListeners: bus.has,
    hasHandlers: bus.handles,
    declared: (event) => bus.spec(event) !== undefined,
    provide(service, value) {
      if (Object(value) !== value) throw misused(`service ${service}`, "it must be an object");
      return stage(`service ${service}`, () => services.provide(service, value));
    },
    use: (service) => services.use(service),
    find: (service) => services.find(service),
    add: contribute,
    list: contributions.list,
    watch(point, changed) {
      // It is told in the midst of another plugin's start, which is not to fail for it.
      const tell = owned(() => {
        try {
          changed();
        } catch (error) {
          log.error({ err: error, point }, `what watches ${point} failed`);
        }
      });
      return scope.add(`watch ${point}`, contributions.watch(point, tell));
    },
    tool: (tool) => contribute("tool", tool),
    task(task, when, run) {
      if (!isTimerMs(when?.everyMs)) throw misused(`task ${task}`, "its everyMs must be 1 to 2e9");
      return stage(`task ${task}`, () => startTask(log.child({ task }), when, owned(run)));
    },
    defer: (undo) => void scope.add("clean-up", owned(undo)),
    onConfig: (apply) => void (version.onConfig = owned(apply)),
    async setConfig(path, value) {
      const holds = (section: string) =>
        section
          .split(".")
          .every((step, i) => i < path.length && (step === "*" || step === path[i]));
      if (!Object.keys(definition.config ?? {}).some(holds))
        throw new PorticoError(
          "forbidden",
          `The plugin ${name} does not declare ${formatKeyPath(path)}.`,
        );
      const edit = value === undefined ? { path, remove: true as const } : { path, value };
      await parts.config.change([edit], { mayLeaveOut: true });
    },
    readiness: (check) => stage("readiness", () => parts.addReadiness(name, check)),
  });
}

function ownedMount(mount: Mount, effect: Stage, owned: Wrap): Mount {
  return checked({
    route(method, path, options, handler) {
      const label = `route ${method} ${path}`;
      if (!ROUTE.test(label))
        throw misused(label, "it takes GET, POST, PUT, PATCH or DELETE, and a path like /a/:b");
      return effect(label, () =>
        mount.route(
          method,
          path,
          options,
          owned(handler, ({ client }) => principalOf(client)),
        ),
      );
    },
    upgrade: (path, options, handler) =>
      effect(`upgrade ${path}`, () =>
        mount.upgrade(
          path,
          options,
          owned(handler, () => "outside"),
        ),
      ),
    errors: (prefix, form, options) =>
      effect(`errors ${prefix}`, () => mount.errors(prefix, form, options)),
  });
}

const ROUTE = /^route (GET|POST|PUT|PATCH|DELETE|) \/[^?#\s]*$/;
const misused = (call: string, why: string) =>
  new PorticoError("internal_error", `${call}: ${why}`);

/** Where the handler stands among what a call takes: looked at when it is made, for then the stack names the line. */
const HANDLER_AT = {
  route: 3,
  upgrade: 2,
  on: 1,
  onAny: 0,
  watch: 1,
  task: 2,
  defer: 0,
  onConfig: 0,
  readiness: 0,
};

function checked<C extends object>(calls: C): C {
  const all = calls as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, at] of Object.entries(HANDLER_AT)) {
    const call = all[name];
    if (call === undefined) continue;
    all[name] = (...args) => {
      if (typeof args[at] === "function") return call(...args);
      const label = [name, ...args.filter((arg) => typeof arg === "string")].join(" ");
      throw misused(label, "its handler must be a function");
    };
  }
  return calls;
}

function startTask(
  log: Logger,
  { everyMs, immediately }: TaskTimes,
  run: (signal: AbortSignal) => unknown,
): Dispose {
  const controller = new AbortController();
  const { signal } = controller;
  const rounds = async () => {
    for (let ms = immediately ? 0 : everyMs; ; ms = everyMs) {
      await setTimeout(ms, undefined, { ref: false, signal });
      try {
        await run(signal);
      } catch (error) {
        if (!signal.aborted) log.error({ err: error }, "task failed");
      }
    }
  };
  // It ends by its signal alone.
  const ended = rounds().catch(() => {});
  return () => {
    controller.abort();
    return ended;
  };
}
