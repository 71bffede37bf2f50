/** Runs a plugin's `setup` in a separate scope, within a limit of time. */
import { asError, declareErrors } from "../../../errors.ts";
import { runAs } from "../../owner.ts";
import { withDeadline } from "../../../timing/deadline.ts";
import type { Scope } from "../../../timing/scope.ts";
import type { EventName, EventSpec } from "../../../contract/index.ts";
import { LoadError, findPlace } from "../../../loader/problem.ts";
import type { PluginVersion } from "./candidate.ts";
import { createPluginContext, type PluginParts } from "./context.ts";
import { readSections } from "./sections.ts";

const setupTimeoutMs = 15_000;

/** Sets up the plugin. Throws `LoadError` if its setup fails; the scope then holds its registrations. */
export async function setUp(
  parts: PluginParts,
  version: PluginVersion,
  scope: Scope,
): Promise<void> {
  const { meta: definition, root, realDir, entry } = version.candidate;
  if (!definition) throw new LoadError("it has no definition", entry);
  const startedAt = performance.now();
  const config = readSections(definition, parts.config.section);
  const bundled = root.name === "bundled";
  Object.assign(version, { config, onConfig: undefined });
  const ctx = createPluginContext(parts, definition, version, scope);
  try {
    for (const [event, spec] of Object.entries(definition.events ?? {}))
      ctx.event(event as EventName, spec as EventSpec);
    if (definition.errors) scope.add("error codes", declareErrors(definition.errors));
    const work = async () => definition.setup(ctx, config);
    const late = () =>
      new Error(
        `its setup did not finish in ${setupTimeoutMs / 1000} s: look for an await that never settles`,
      );
    await withDeadline(
      bundled ? work() : runAs(`plugin:${definition.name}`, work, { principal: "owner" }),
      setupTimeoutMs,
      late,
    );
  } catch (thrown) {
    const error = asError(thrown);
    // Lines of the package's own bundles do not point into a user's source.
    const { file = entry, line, column } = (bundled ? undefined : findPlace(error, realDir)) ?? {};
    throw new LoadError(`setup failed: ${error.message}`, file, line, column, { cause: error });
  }
  version.setupMs = performance.now() - startedAt;
}
