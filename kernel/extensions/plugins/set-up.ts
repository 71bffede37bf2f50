/** Runs a plugin's `setup` in a scope of its own, within a limit of time. */
import { declareErrors } from "../../errors.ts";
import { withDeadline } from "../../timing/deadline.ts";
import type { Scope } from "../../timing/scope.ts";
import type { ConfigOf, ConfigSchemas, EventName, EventSpec } from "../../types.ts";
import { LoadError, placeOf } from "../load/load-error.ts";
import type { Slot, Version } from "../slot.ts";
import type { PluginCandidate } from "./candidate.ts";
import { createPluginContext, type PluginParts } from "./context.ts";
import { sectionsOf } from "./sections.ts";
import { createStage } from "./stage.ts";

export interface PluginVersion extends Version<PluginCandidate> {}

/** What is known of a plugin while it runs. */
export interface RunningPlugin {
  config: ConfigOf<ConfigSchemas>;
  setupMs: number;
  /** What the setup registered takes effect. */
  takeUp(): void;
  onConfig?: (next: ConfigOf<ConfigSchemas>, previous: ConfigOf<ConfigSchemas>) => void | Promise<void>;
}

export interface PluginSlot extends Slot<PluginCandidate, PluginVersion, RunningPlugin> {}

const setupTimeoutMs = 15_000;

/** Throws `LoadError` where its setup fails; what it registered until then stands in the scope. */
export async function setUp(parts: PluginParts, { candidate }: PluginVersion, scope: Scope): Promise<RunningPlugin> {
  const { meta: definition, root, realDir, entry } = candidate;
  if (!definition) throw new LoadError("it has no definition", entry);
  const began = performance.now();
  const config = sectionsOf(definition, parts.config.section);
  const stage = createStage(scope);
  const running: RunningPlugin = { config, setupMs: 0, takeUp: stage.takeUp };
  const bundled = root.name === "bundled";
  const ctx = createPluginContext({
    parts,
    scope,
    stage,
    name: definition.name,
    dir: realDir,
    config,
    sections: Object.keys(definition.config ?? {}),
    bundled,
    onConfig: (apply) => {
      running.onConfig = apply;
    },
  });
  try {
    for (const [event, spec] of Object.entries(definition.events ?? {}))
      scope.add(`event ${event}`, parts.bus.declare(event as EventName, spec as EventSpec));
    if (definition.errors) scope.add("error codes", declareErrors(definition.errors));
    await withDeadline((async () => definition.setup(ctx, config))(), setupTimeoutMs, () => {
      const hint = "does it await something that never ends?";
      return new Error(`it did not finish in ${setupTimeoutMs / 1000} s: ${hint}`);
    });
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    // The lines of the package's own bundles are nobody's source.
    const place = bundled ? undefined : placeOf(error, realDir);
    const { file = entry, line, column } = place ?? {};
    throw new LoadError(`setup failed: ${error.message}`, file, line, column, { cause: error });
  }
  running.setupMs = performance.now() - began;
  return running;
}
