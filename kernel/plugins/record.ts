/** What is shown of a plugin. */
import type { ServiceName } from "../types.ts";
import { errorOf, nameOf, type Slot } from "./slot.ts";

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

/** What a slot does not know by itself. */
export interface Outlook {
  isWanted(slot: Slot): boolean;
  /** Services that it needs and nobody provides. */
  missing(slot: Slot): ServiceName[];
}

export function stateOf(slot: Slot, { isWanted }: Pick<Outlook, "isWanted">): PluginState {
  if (slot.refused) return "refused";
  if (slot.shadowedBy) return "shadowed";
  if (slot.active) return errorOf(slot) ? "stale" : "active";
  if (errorOf(slot)) return "failed";
  return isWanted(slot) ? "waiting" : "disabled";
}

export function describe(slot: Slot, outlook: Outlook): PluginRecord {
  const { active, found, loaded } = slot;
  const state = stateOf(slot, outlook);
  const lacking = state === "waiting" ? outlook.missing(slot) : [];
  return {
    name: nameOf(slot),
    description: loaded?.definition.description,
    state,
    error:
      errorOf(slot) ?? (lacking.length ? `it needs ${lacking.join(", ")}, which no active plugin provides` : undefined),
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

function round(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}
