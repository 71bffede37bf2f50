import type { PluginContext } from "portico";

/** A part of a plugin that starts only after the gateway responds to requests. */
export interface LateStarted<C> {
  /** Applies a changed configuration. If it throws, the old one stays active. */
  apply(next: C): Promise<void>;
  stop(): Promise<void>;
}

export interface LateStartOptions<C, P extends LateStarted<C>> {
  /** The configuration section that `apply` receives. */
  section: string;
  /** The content of that section at the start. */
  settings: C;
  /** The delay of the start, in ms, unless the part is needed earlier. */
  afterMs: number;
  start(settings: () => C): Promise<P>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Starts a part of a plugin for which the gateway's own start must not wait, and passes changed configuration to it. A
 * failed start is repeated at the next use, and by itself after 1 s, doubling up to a minute; until then the gateway is not
 * ready. `started` resolves with the started part. Call this last in `setup`, so that its clean-up runs first, while
 * everything that the part uses still exists.
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
    const previousSettings = settings;
    settings = next[options.section] as C;
    try {
      await (await running)?.apply(settings);
    } catch (error) {
      settings = previousSettings;
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
