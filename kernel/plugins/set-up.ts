/** Runs a plugin's `setup` in a scope of its own, within a limit of time. */
import { withDeadline } from "../timing/deadline.ts";
import { Scope } from "../timing/scope.ts";
import { declareErrors } from "../errors.ts";
import type { EventName, EventSpec } from "../types.ts";
import { createPluginContext, type PluginParts } from "./context.ts";
import type { Loaded } from "./definitions.ts";
import { sectionsOf } from "./sections.ts";
import type { Active } from "./slot.ts";

const setupTimeoutMs = 15_000;

/** The version with all that it registered. Where its setup fails, everything is undone, logged, and an Error thrown. */
export async function setUp(parts: PluginParts, loaded: Loaded, generation: number): Promise<Active> {
  const { definition, found } = loaded;
  const began = performance.now();
  const scope = new Scope();
  const config = sectionsOf(definition, parts.config.section);
  const active: Active = { loaded, generation, scope, setupMs: 0, loadedAt: new Date().toISOString(), config };
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
    for (const [event, spec] of Object.entries(definition.events ?? {}))
      scope.add(`event ${event}`, parts.bus.declare(event as EventName, spec as unknown as EventSpec<EventName>));
    if (definition.errors) scope.add("error codes", declareErrors(definition.errors));
    await withDeadline((async () => definition.setup(ctx, config as never))(), setupTimeoutMs, () => {
      const hint = "does it await something that never ends?";
      return new Error(`setup of ${definition.name} did not finish in ${setupTimeoutMs / 1000} s: ${hint}`);
    });
  } catch (thrown) {
    const errors = await scope.dispose();
    const message = `setup failed: ${(thrown as Error).message}`;
    parts.log.error(
      { plugin: definition.name, err: thrown, undoErrors: errors.length },
      `plugin ${definition.name}: ${message}`,
    );
    throw new Error(message, { cause: thrown });
  }
  active.setupMs = performance.now() - began;
  return active;
}
