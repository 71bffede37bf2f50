/** What is known of one plugin directory, and which directory is in force where several claim one name. */
import type { Found } from "../extensions/discover.ts";
import type { Scope } from "../timing/scope.ts";
import type { Logger } from "../types.ts";
import type { Loaded } from "./definitions.ts";

/** A version whose setup has succeeded. */
export interface Active {
  loaded: Loaded;
  generation: number;
  scope: Scope;
  setupMs: number;
  loadedAt: string;
  onConfig?: (next: never, previous: never) => void | Promise<void>;
  config: Record<string, unknown>;
}

export interface Slot {
  found: Found;
  loaded?: Loaded;
  active?: Active;
  /** The version whose setup was last tried: a failed one is tried again when told, or once it or its configuration changed. */
  tried?: Loaded;
  /** Why the version on disk cannot be loaded, or must not be. */
  loadError?: string;
  /** Why the version that was last tried is not set up. */
  setupError?: string;
  refused?: boolean;
  shadowedBy?: string;
  generation: number;
}

/** Why the newest version does not run. */
export function errorOf(slot: Slot): string | undefined {
  return slot.loadError ?? slot.setupError;
}

export function nameOf(slot: Slot): string {
  return slot.loaded?.definition.name ?? slot.found.name;
}

/** Whoever provides a service comes before those who need it. */
export function inOrderOfNeeds(slots: readonly Slot[]): Slot[] {
  const ordered = new Set<Slot>();
  const visit = (slot: Slot): void => {
    if (ordered.has(slot)) return;
    ordered.add(slot);
    ordered.delete(slot);
    for (const need of slot.loaded?.definition.needs ?? []) {
      for (const other of slots)
        if (other !== slot && other.active?.scope.effects.includes(`service ${need}`)) visit(other);
    }
    ordered.add(slot);
  };
  for (const slot of slots) visit(slot);
  return [...ordered];
}

/** Decides, for each name, which directory is in force. */
export function settleClaims(slots: Iterable<Slot>, log: Logger): void {
  const byName = new Map<string, Slot[]>();
  for (const slot of slots) {
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
