/** The plugins of a gateway: found, loaded, set up in the order of their needs, reloaded, replaced and taken down. */
import { endOrLate, withDeadline } from "../timing/deadline.ts";
import { isPorticoError, PorticoError } from "../errors.ts";
import { discover, type Found, type Root } from "../extensions/discover.ts";
import type { Loader } from "../extensions/load.ts";
import { UnsafeError } from "../extensions/safety.ts";
import { createTurns } from "../timing/in-turn.ts";
import { type Scope, undoLimitMs } from "../timing/scope.ts";
import type { ConfigSchemas, Dispose, ServiceName } from "../types.ts";
import type { PluginParts } from "./context.ts";
import { type Loaded, loadPlugin, pluginEntryNames, versionOnDisk } from "./definitions.ts";
import { describe, type PluginRecord, stateOf } from "./record.ts";
import { isConcerned, sectionsOf } from "./sections.ts";
import { setUp } from "./set-up.ts";
import { inOrderOfNeeds, nameOf, type Slot, settleClaims } from "./slot.ts";

export interface PluginHostOptions {
  roots: () => readonly Root[];
  loader: Loader;
  parts: PluginParts;
  enabled: (name: string) => boolean;
  /** How long one undo of a plugin may take, and its taking of a changed configuration. */
  limits?: { undoMs: number; configMs: number };
}

const defaultLimits = { undoMs: undoLimitMs, configMs: 15_000 };

export function createPluginHost(options: PluginHostOptions) {
  const { parts, loader } = options;
  const { log } = parts;
  const limits = options.limits ?? defaultLimits;
  const outlook = { isWanted, missing };
  /** By directory: two directories may claim one name. */
  const slots = new Map<string, Slot>();
  const defined = new Map<string, Dispose>();
  /** Scans, reloads and configuration changes never overlap. */
  const inTurn = createTurns();
  let stopping = false;
  let settled = false;
  let refusal: PorticoError | undefined;

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
    try {
      const forced = slot.loaded !== undefined && slot.loaded.definition.name === force;
      // The package's own files change with an update, which is a restart.
      if (found.root.name === "bundled" && slot.loaded && !forced) return;
      const hash = await versionOnDisk(found, loader);
      slot.refused = false;
      if (slot.loaded?.module.hash === hash && !forced) return void (slot.loadError = undefined);
      slot.loaded = await loadPlugin(found, loader);
      slot.loadError = undefined;
      slot.generation++;
      define(found.dir, slot.loaded.definition.config ?? {});
    } catch (thrown) {
      const { message } = thrown as Error;
      // Every scan tries again; it is news only once.
      if (slot.loadError !== message)
        log.error({ plugin: found.name, err: thrown }, `plugin ${found.name} does not load: ${message}`);
      slot.loadError = message;
      slot.refused = thrown instanceof UnsafeError;
      if (slot.refused) slot.loaded = undefined;
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
    for (const slot of slots.values()) if (!isWanted(slot)) await takeDown(slot);
    // a changed configuration may still be on its way when the gateway stops
    while (!stopping) {
      const ready = [...slots.values()].filter(
        (slot) => isWanted(slot) && slot.tried !== slot.loaded && !missing(slot).length,
      );
      if (ready.length === 0) return;
      await Promise.all(ready.map(setUpNewest));
    }
  }

  function isWanted(slot: Slot): boolean {
    return !slot.refused && !slot.shadowedBy && slot.loaded !== undefined && options.enabled(nameOf(slot));
  }

  function missing(slot: Slot): ServiceName[] {
    return (slot.loaded?.definition.needs ?? []).filter((need) => !parts.services.find(need));
  }

  async function setUpNewest(slot: Slot): Promise<void> {
    const loaded = slot.loaded as Loaded;
    slot.tried = loaded;
    try {
      await replace(slot, loaded, slot.generation);
      slot.setupError = undefined;
    } catch (thrown) {
      slot.setupError = (thrown as Error).message;
      // what the configuration says cannot be: a gateway does not start with that
      const { cause } = thrown as Error;
      if (!settled && isPorticoError(cause) && cause.code === "config_error") refusal ??= cause;
      return;
    }
    const plugin = nameOf(slot);
    if (settled) log.info({ plugin, generation: slot.generation }, `plugin ${plugin} is active`);
  }

  /** Two phases: the version is set up beside what runs, which is taken down only when that succeeded. */
  async function replace(slot: Slot, loaded: Loaded, generation: number): Promise<void> {
    const next = await setUp(parts, loaded, generation);
    const old = slot.active;
    slot.active = next;
    if (old) void disposeScope(old.loaded.definition.name, old.scope);
  }

  async function takeDown(slot: Slot): Promise<void> {
    const { active } = slot;
    Object.assign(slot, { active: undefined, tried: undefined, setupError: undefined });
    if (active) await disposeScope(active.loaded.definition.name, active.scope);
  }

  async function disposeScope(name: string, scope: Scope): Promise<void> {
    for (const error of await scope.dispose(limits.undoMs))
      log.error({ plugin: name, err: error }, `plugin ${name}: clean-up failed: ${error.message}`);
  }

  async function drop(dir: string): Promise<void> {
    const slot = slots.get(dir);
    slots.delete(dir);
    if (slot) await takeDown(slot);
    await defined.get(dir)?.();
    defined.delete(dir);
  }

  /**
   * After a change of the configuration. Every plugin is asked, also after one has refused: when the change goes back,
   * all must hear of that. Throws what the refusing ones say.
   */
  async function reconfigure(keys: readonly string[]): Promise<void> {
    const refusals: string[] = [];
    for (const slot of slots.values()) {
      await take(slot, keys).catch((error: Error) => refusals.push(`plugin ${nameOf(slot)}: ${error.message}`));
    }
    if (refusals.length) throw new Error(refusals.join("; "));
    await activate();
  }

  /** The plugin takes the change itself, or is set up anew. */
  async function take(slot: Slot, keys: readonly string[]): Promise<void> {
    const { active, loaded } = slot;
    // What has changed may be what its setup failed for.
    if (loaded && slot.setupError && isConcerned(loaded.definition, keys)) slot.tried = undefined;
    if (!active || !isWanted(slot) || !isConcerned(active.loaded.definition, keys)) return;
    if (!active.onConfig) return replace(slot, active.loaded, active.generation);
    const next = sectionsOf(active.loaded.definition, parts.config.section);
    const taken = active.onConfig(next as never, active.config as never);
    await withDeadline(taken, limits.configMs, () => new Error(`its onConfig was not done in ${limits.configMs} ms`));
    active.config = next;
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
        if (refusal) throw refusal;
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
    stop(): Promise<void> {
      stopping = true;
      return inTurn(async () => {
        const latestFirst = inOrderOfNeeds([...slots.values()]).reverse();
        const takeAllDown = async (isBundled: boolean) => {
          for (const slot of latestFirst) if ((slot.found.root.name === "bundled") === isBundled) await takeDown(slot);
        };
        // However many of a user's clean-ups hang: those of the package (which close browsers, say) still run.
        await endOrLate(takeAllDown(false), 2 * limits.undoMs);
        await takeAllDown(true);
      });
    },
    /** The members of a hook's `ctx` that any plugin here may give, running or not. */
    hookMembers: (): string[] =>
      [...slots.values()].flatMap((slot) => Object.keys(slot.loaded?.definition.hookContext ?? {})),
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
