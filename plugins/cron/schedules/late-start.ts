import type { PluginContext } from "portico";

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

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Holds a plugin's parts that the start of the gateway must not wait for, and their configuration. What could not start
 * is tried again at the next use, and by itself after 1 s, doubling up to a minute; until then the gateway is not ready.
 * Call it last in `setup`: its clean-up stops the parts while all else is still there.
 */
export function startLate<C, P extends LateParts<C>>(ctx: PluginContext, options: LateStartOptions<C, P>) {
  let { settings } = options;
  let started: Promise<P> | undefined;
  let failure: Error | undefined;
  const parts = (): Promise<P> => (started ??= start());

  async function start(): Promise<P> {
    try {
      const made = await options.start(() => settings);
      failure = undefined;
      return made;
    } catch (error) {
      started = undefined;
      if ((error as Error).message !== failure?.message) ctx.log.error({ err: error }, `${ctx.name} could not start`);
      failure = error as Error;
      throw error;
    }
  }

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
  let timer: NodeJS.Timeout;
  function startIn(ms: number, pauseMs: number): void {
    timer = setTimeout(() => {
      parts().catch(() => {
        if (!ctx.signal.aborted) startIn(pauseMs, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
      });
    }, ms).unref();
  }
  startIn(options.afterMs, FIRST_PAUSE_MS);
  ctx.readiness(() => failure && `${ctx.name} could not start: ${failure.message}`);
  ctx.defer(async () => {
    clearTimeout(timer);
    await (await started?.catch(() => undefined))?.stop();
  });
  return { parts, settings: (): C => settings };
}
