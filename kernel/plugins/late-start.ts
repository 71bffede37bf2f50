import type { PluginContext } from "../types.ts";

export interface LateParts<C> {
  /** Takes a changed configuration; a throw keeps the old one. */
  apply(next: C): Promise<void>;
  stop(): Promise<void>;
}

export interface LateStartOptions<C, P extends LateParts<C>> {
  /** The configuration section that the parts follow. */
  section: string;
  /** That section at the start. */
  settings: C;
  /** The parts are started this long after the plugin, if nobody needs them before: the gateway answers first. */
  afterMs: number;
  start(settings: () => C): Promise<P>;
}

/**
 * Holds a plugin's parts that the start of the gateway must not wait for, and their configuration. What could not start
 * is tried again at the next use. Call it last in `setup`: its clean-up stops the parts while all else is still there.
 */
export function startLate<C, P extends LateParts<C>>(ctx: PluginContext, options: LateStartOptions<C, P>) {
  let { settings } = options;
  let started: Promise<P> | undefined;
  const parts = (): Promise<P> =>
    (started ??= options
      .start(() => settings)
      .catch((error: unknown) => {
        started = undefined;
        throw error;
      }));

  ctx.onConfig(async (next: Record<string, unknown>) => {
    const before = settings;
    settings = next[options.section] as C;
    try {
      await (await started)?.apply(settings);
    } catch (error) {
      settings = before;
      throw error;
    }
  });
  const timer = setTimeout(() => {
    parts().catch((error: unknown) => ctx.log.error({ err: error }, `${ctx.name} could not start`));
  }, options.afterMs).unref();
  ctx.defer(async () => {
    clearTimeout(timer);
    await (await started?.catch(() => undefined))?.stop();
  });
  return { parts, settings: (): C => settings };
}
