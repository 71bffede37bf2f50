import type { PluginContext } from "portico";

/** What a plugin starts only after the gateway answers. */
export interface LateStarted<C> {
  /** Takes a changed configuration; a throw keeps the old one. */
  apply(next: C): Promise<void>;
  stop(): Promise<void>;
}

export interface LateStartOptions<C, P extends LateStarted<C>> {
  /** The configuration section that it follows. */
  section: string;
  /** That section at the start. */
  settings: C;
  /** It starts this long after the plugin, unless it is needed earlier. */
  afterMs: number;
  start(settings: () => C): Promise<P>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Starts what the gateway's own start must not wait for, and hands it its configuration. What could not start is tried
 * again at the next use, and by itself after 1 s, doubling up to a minute; until then the gateway is not ready. `started`
 * answers it, started by then at the latest. Call this last in `setup`: its clean-up stops what was started while all
 * else is still there.
 *
 * @example
 * const late = startLate(ctx, { section: "cron", settings: config.cron, afterMs: 50, start: (settings) => startCron(ctx, settings) });
 * ctx.route("GET", "/cron/jobs", access, async () => (await late.started()).operations.list());
 */
export function startLate<C, P extends LateStarted<C>>(
  ctx: PluginContext,
  options: LateStartOptions<C, P>,
) {
  let { settings } = options;
  let running: Promise<P> | undefined;
  let failure: Error | undefined;
  const started = (): Promise<P> => (running ??= start());

  async function start(): Promise<P> {
    try {
      const instance = await options.start(() => settings);
      failure = undefined;
      return instance;
    } catch (error) {
      running = undefined;
      if ((error as Error).message !== failure?.message)
        ctx.log.error({ err: error }, `${ctx.name} could not start`);
      failure = error as Error;
      throw error;
    }
  }

  ctx.onConfig(async (next: Record<string, unknown>) => {
    const before = settings;
    settings = next[options.section] as C;
    try {
      await (await running)?.apply(settings);
    } catch (error) {
      settings = before;
      throw error;
    }
  });
  let timer: NodeJS.Timeout;
  function startIn(ms: number, pauseMs: number): void {
    timer = setTimeout(() => {
      started().catch(() => {
        if (!ctx.signal.aborted) startIn(pauseMs, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
      });
    }, ms).unref();
  }
  startIn(options.afterMs, FIRST_PAUSE_MS);
  ctx.readiness(() => failure && `${ctx.name} could not start: ${failure.message}`);
  ctx.defer(async () => {
    clearTimeout(timer);
    await (await running?.catch(() => undefined))?.stop();
  });
  return { started, settings: (): C => settings };
}
