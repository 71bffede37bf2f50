/** The plugins of a gateway: found, loaded, set up in the order of their needs, reloaded, replaced and taken down. */
import { PorticoError } from "../errors.ts";
import { discover, type Found, type Root } from "../extensions/discover.ts";
import type { Loader } from "../extensions/load.ts";
import type { Scope } from "../scope.ts";
import type { ConfigSchemas, Dispose, ServiceName } from "../types.ts";
import type { PluginParts } from "./context.ts";
import { type Loaded, loadPlugin, pluginEntryNames } from "./definitions.ts";
import { describe, type PluginRecord, stateOf } from "./record.ts";
import { isConcerned, sectionsOf } from "./sections.ts";
import { setUp } from "./set-up.ts";
import { nameOf, type Slot, settleClaims } from "./slot.ts";

export interface PluginHostOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: PluginParts;
  enabled: (name: string) => boolean;
}

export function createPluginHost(options: PluginHostOptions) {
  const { parts, loader } = options;
  const log = parts.log;
  const outlook = { isWanted, missing };
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
    settleClaims(slots.values(), log);
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
      await Promise.all(ready.map(replace));
    }
  }

  function isWanted(slot: Slot): boolean {
    return !slot.refused && !slot.shadowedBy && slot.loaded !== undefined && options.enabled(nameOf(slot));
  }

  function missing(slot: Slot): ServiceName[] {
    return (slot.loaded?.definition.needs ?? []).filter((need) => !parts.services.find(need));
  }

  /** Two phases: the new version is set up beside the old one, which is taken down only when that succeeded. */
  async function replace(slot: Slot): Promise<void> {
    const loaded = slot.loaded as Loaded;
    const { name } = loaded.definition;
    slot.tried = loaded;
    try {
      const next = await setUp(parts, loaded, slot.generation);
      const old = slot.active;
      slot.active = next;
      slot.error = undefined;
      if (old) void disposeScope(name, old.scope);
    } catch (thrown) {
      slot.error = (thrown as Error).message;
      return;
    }
    if (settled) log.info({ plugin: name, generation: slot.generation }, `plugin ${name} is active`);
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
      const { definition } = active.loaded;
      if (!isConcerned(definition, keys)) continue;
      const next = sectionsOf(definition, parts.config.section);
      if (active.onConfig) {
        await active.onConfig(next as never, active.config as never);
        active.config = next;
      } else {
        await replace(slot);
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
    list: (): PluginRecord[] => [...slots.values()].map(record).sort((a, b) => a.name.localeCompare(b.name)),
    info,
    /** Wanted plugins that are not active, for `/ready`. */
    unready: (): { name: string; error: string }[] =>
      [...slots.values()]
        .filter((slot) => !slot.active && ["failed", "waiting"].includes(stateOf(slot, outlook)))
        .map((slot) => ({ name: nameOf(slot), error: record(slot).error ?? "it is starting" })),
  };

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
    return record(find(name));
  }

  function record(slot: Slot): PluginRecord {
    return describe(slot, outlook);
  }
}
export type PluginHost = ReturnType<typeof createPluginHost>;
