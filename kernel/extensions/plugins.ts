/** The plugins of a gateway: found, loaded, set up in the order of their needs, reloaded, replaced and taken down. */
import { PorticoError } from "../errors.ts";
import { Scope } from "../scope.ts";
import type { ConfigSchemas, Dispose, PluginDefinition, ServiceName } from "../types.ts";
import { createPluginContext, type PluginParts } from "./context.ts";
import { type Loaded, loadPlugin, pluginEntryNames } from "./definitions.ts";
import { discover, type Found, type Root } from "./discover.ts";
import type { Loader } from "./load.ts";

export type PluginState = "active" | "waiting" | "failed" | "stale" | "disabled" | "shadowed" | "refused";

/** What `portico plugins info` shows. */
export interface PluginRecord {
  name: string;
  description?: string;
  state: PluginState;
  /** Why it is not (or not newly) active. */
  error?: string;
  root: string;
  dir: string;
  shadowedBy?: string;
  hash?: string;
  generation: number;
  loadedAt?: string;
  loadMs?: number;
  setupMs?: number;
  effects: string[];
}

interface Active {
  loaded: Loaded;
  generation: number;
  scope: Scope;
  setupMs: number;
  loadedAt: string;
  onConfig?: (next: never, previous: never) => void | Promise<void>;
  config: Record<string, unknown>;
}
interface Slot {
  found: Found;
  loaded?: Loaded;
  active?: Active;
  /** The version whose setup was last tried: a failed one is tried again only when told, or once it changed. */
  tried?: Loaded;
  error?: string;
  refused?: boolean;
  shadowedBy?: string;
  generation: number;
}

export interface PluginHostOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: PluginParts;
  enabled: (name: string) => boolean;
}

const setupTimeoutMs = 15_000;

export function createPluginHost(options: PluginHostOptions) {
  const { parts, loader } = options;
  const log = parts.log;
  /** By directory: two directories may claim one name. */
  const slots = new Map<string, Slot>();
  const defined = new Map<string, Dispose>();
  let work: Promise<unknown> = Promise.resolve();
  let stopping = false;
  let settled = false;

  /** Scans, reloads and configuration changes never overlap. */
  function inTurn<T>(job: () => Promise<T>): Promise<T> {
    const next = work.then(job, job);
    work = next.catch(() => {});
    return next;
  }

  /** Brings definitions in line with the disk; the configuration can be checked afterwards. */
  async function refresh(force?: string): Promise<void> {
    const found = discover(options.roots(), pluginEntryNames);
    const byDir = new Map(found.map((one) => [one.dir, one]));
    for (const dir of slots.keys()) if (!byDir.has(dir)) await drop(dir);
    await Promise.all(found.map((one) => refreshOne(one, force)));
    settle();
  }

  async function refreshOne(found: Found, force?: string): Promise<void> {
    const slot: Slot = slots.get(found.dir) ?? { found, generation: 0 };
    slots.set(found.dir, slot);
    slot.found = found;
    slot.refused = found.refused !== undefined;
    if (slot.refused) return void Object.assign(slot, { loaded: undefined, error: found.refused });
    try {
      const forced = slot.loaded !== undefined && slot.loaded.definition.name === force;
      // The package's own files change with an update, which is a restart.
      if (found.root.name === "bundled" && slot.loaded && !forced) return;
      const { hash } = await loader.compile(found.entry);
      if (slot.loaded?.module.hash === hash && !slot.error && !forced) return;
      slot.loaded = await loadPlugin(found, loader);
      slot.error = undefined;
      slot.generation++;
      define(found.dir, slot.loaded.definition.config ?? {});
    } catch (thrown) {
      const { message } = thrown as Error;
      // Every scan tries again; it is news only once.
      if (slot.error !== message)
        log.error({ plugin: found.name, err: thrown }, `plugin ${found.name} does not load: ${message}`);
      slot.error = message;
      // Its section of the configuration must not become an unknown key.
      if (!slot.loaded) define(found.dir, { [found.name]: parts.anySchema });
    }
  }

  function define(dir: string, schemas: ConfigSchemas): void {
    void defined.get(dir)?.();
    defined.set(dir, parts.config.define(dir, schemas));
  }

  /** Decides, for each name, which directory is in force. */
  function settle(): void {
    const byName = new Map<string, Slot[]>();
    for (const slot of slots.values()) {
      if (slot.refused) continue;
      const name = nameOf(slot);
      byName.set(name, [...(byName.get(name) ?? []), slot]);
    }
    for (const [name, claims] of byName) {
      claims.sort((a, b) => b.found.root.rank - a.found.root.rank || a.found.dir.localeCompare(b.found.dir));
      const winner = claims[0]?.found.dir;
      for (const slot of claims) {
        const shadowedBy = slot.found.dir === winner ? undefined : winner;
        if (shadowedBy && !slot.shadowedBy) log.info({ plugin: name }, `${shadowedBy} replaces ${slot.found.dir}`);
        slot.shadowedBy = shadowedBy;
      }
    }
  }

  /** Sets up what should run and is not, reloads what changed, takes down what should not. */
  async function activate(): Promise<void> {
    // a changed configuration may still be on its way when the gateway has stopped
    if (stopping) return;
    for (const slot of slots.values()) if (slot.active && !isWanted(slot)) await takeDown(slot);
    for (;;) {
      const ready = [...slots.values()].filter(
        (slot) => isWanted(slot) && slot.tried !== slot.loaded && !missing(slot).length,
      );
      if (ready.length === 0) return;
      await Promise.all(ready.map(setUp));
    }
  }

  function isWanted(slot: Slot): boolean {
    return !slot.refused && !slot.shadowedBy && slot.loaded !== undefined && options.enabled(nameOf(slot));
  }

  function missing(slot: Slot): ServiceName[] {
    return (slot.loaded?.definition.needs ?? []).filter((need) => !parts.services.find(need));
  }

  /** Two phases: the new version is set up beside the old one, which is taken down only when that succeeded. */
  async function setUp(slot: Slot): Promise<void> {
    const loaded = slot.loaded as Loaded;
    const { definition, found } = loaded;
    slot.tried = loaded;
    const began = performance.now();
    const scope = new Scope();
    const config = sectionsOf(definition);
    const active: Active = {
      loaded,
      generation: slot.generation,
      scope,
      setupMs: 0,
      loadedAt: new Date().toISOString(),
      config,
    };
    const ctx = createPluginContext({
      parts,
      scope,
      name: definition.name,
      dir: found.realDir,
      sections: Object.keys(definition.config ?? {}),
      bundled: found.root.name === "bundled",
      onConfig: (apply) => {
        active.onConfig = apply;
      },
    });
    try {
      await bounded(definition.name, async () => definition.setup(ctx, config as never));
    } catch (thrown) {
      const errors = await scope.dispose();
      slot.error = `setup failed: ${(thrown as Error).message}`;
      log.error(
        { plugin: definition.name, err: thrown, undoErrors: errors.length },
        `plugin ${definition.name}: ${slot.error}`,
      );
      return;
    }
    active.setupMs = performance.now() - began;
    const old = slot.active;
    slot.active = active;
    slot.error = undefined;
    if (old) void disposeScope(definition.name, old.scope);
    if (settled)
      log.info({ plugin: definition.name, generation: slot.generation }, `plugin ${definition.name} is active`);
  }

  function sectionsOf(definition: PluginDefinition): Record<string, unknown> {
    const paths = Object.keys(definition.config ?? {});
    return Object.fromEntries(
      paths.map((path) => [path, path.slice(0, -1).includes("*") ? undefined : parts.config.section(path)]),
    );
  }

  async function takeDown(slot: Slot): Promise<void> {
    const { active } = slot;
    slot.active = undefined;
    slot.tried = undefined;
    if (active) await disposeScope(nameOf(slot), active.scope);
  }

  async function disposeScope(name: string, scope: Scope): Promise<void> {
    for (const error of await scope.dispose())
      log.error({ plugin: name, err: error }, `plugin ${name}: clean-up failed`);
  }

  async function drop(dir: string): Promise<void> {
    const slot = slots.get(dir);
    slots.delete(dir);
    if (slot) await takeDown(slot);
    await defined.get(dir)?.();
    defined.delete(dir);
  }

  /** After a change of the configuration: plugins take it themselves, or are set up anew. */
  async function reconfigure(keys: readonly string[]): Promise<void> {
    for (const slot of slots.values()) {
      const { active } = slot;
      if (!active || !isWanted(slot)) continue;
      const paths = Object.keys(active.loaded.definition.config ?? {});
      if (!paths.some((path) => keys.some((key) => overlaps(path, key)))) continue;
      const next = sectionsOf(active.loaded.definition);
      if (active.onConfig) {
        await active.onConfig(next as never, active.config as never);
        active.config = next;
      } else {
        await setUp(slot);
        if (slot.error) throw new Error(`plugin ${nameOf(slot)}: ${slot.error}`);
      }
    }
    await activate();
  }

  parts.services.onProvide(() => {
    if (settled && !stopping) void inTurn(activate);
  });

  return {
    /** First scan: loads definitions. Then the configuration can be checked, then `start` sets everything up. */
    prepare: () => inTurn(() => refresh()),
    start: () =>
      inTurn(async () => {
        await activate();
        settled = true;
      }),
    /** Something below the roots may have changed. */
    rescan: () =>
      inTurn(async () => {
        await refresh();
        checkConfig();
        await activate();
      }),
    reload: (name: string) =>
      inTurn(async () => {
        find(name);
        for (const slot of slots.values()) if (nameOf(slot) === name) slot.tried = undefined;
        await refresh(name);
        checkConfig();
        await activate();
        return info(name);
      }),
    reconfigure: (keys: readonly string[]) => inTurn(() => reconfigure(keys)),
    /** Takes every plugin down, the latest first. */
    stop: () =>
      inTurn(async () => {
        stopping = true;
        for (const slot of [...slots.values()].reverse()) await takeDown(slot);
      }),
    list: (): PluginRecord[] => [...slots.values()].map(describe).sort((a, b) => a.name.localeCompare(b.name)),
    info,
    /** Wanted plugins that are not active, for `/ready`. */
    unready: (): { name: string; error: string }[] =>
      [...slots.values()]
        .filter((slot) => !slot.active && ["failed", "waiting"].includes(stateOf(slot)))
        .map((slot) => ({ name: nameOf(slot), error: describe(slot).error ?? "it is starting" })),
  };

  function stateOf(slot: Slot): PluginState {
    if (slot.refused) return "refused";
    if (slot.shadowedBy) return "shadowed";
    if (slot.active) return slot.error ? "stale" : "active";
    if (slot.error) return "failed";
    return isWanted(slot) ? "waiting" : "disabled";
  }

  /** A section that lost its plugin, or does not fit the new one, must not keep the others from running. */
  function checkConfig(): void {
    try {
      parts.config.check();
    } catch (error) {
      log.warn({ err: error }, `the configuration does not fit the plugins: ${(error as Error).message}`);
    }
  }

  function find(name: string): Slot {
    const claims = [...slots.values()].filter((slot) => nameOf(slot) === name);
    const slot = claims.find((one) => !one.shadowedBy) ?? claims[0];
    if (slot) return slot;
    throw new PorticoError("plugin_not_found", `There is no plugin ${name}: see \`portico plugins list\`.`, {
      status: 404,
    });
  }

  function info(name: string): PluginRecord {
    return describe(find(name));
  }

  function describe(slot: Slot): PluginRecord {
    const { active, found, loaded } = slot;
    const state = stateOf(slot);
    const lacking = state === "waiting" ? missing(slot) : [];
    return {
      name: nameOf(slot),
      description: loaded?.definition.description,
      state,
      error:
        slot.error ?? (lacking.length ? `it needs ${lacking.join(", ")}, which no active plugin provides` : undefined),
      root: found.root.name,
      dir: found.dir,
      shadowedBy: slot.shadowedBy,
      hash: (active?.loaded ?? loaded)?.module.hash,
      generation: active?.generation ?? slot.generation,
      loadedAt: active?.loadedAt,
      loadMs: round(loaded?.loadMs),
      setupMs: round(active?.setupMs),
      effects: active?.scope.effects ?? [],
    };
  }
}
export type PluginHost = ReturnType<typeof createPluginHost>;

function nameOf(slot: Slot): string {
  return slot.loaded?.definition.name ?? slot.found.name;
}

function round(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}

/** True when a changed key lies in a section, or a section below the key. */
function overlaps(path: string, key: string): boolean {
  const section = path.replace(/\.?\*.*$/, "");
  return key === section || isBelow(key, section) || isBelow(section, key);
}

/** `channels["a.b"]` is below `channels` as `channels.a` is. */
function isBelow(key: string, above: string): boolean {
  return key.startsWith(above) && /^[.[]/.test(key.slice(above.length));
}

async function bounded(name: string, job: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new Error(
            `setup of ${name} did not finish in ${setupTimeoutMs / 1000} s: does it await something that never ends?`,
          ),
        ),
      setupTimeoutMs,
    );
  });
  try {
    await Promise.race([job(), late]);
  } finally {
    clearTimeout(timer);
  }
}
