/**
 * What V8 takes to be fast and an idle process would not give back: for what a start makes and keeps, a young generation of
 * 16 MB; for what it calls often and then never again, the optimizing compiler, of whose code 4 MB are read in.
 */

/** Of processor time: thrice what an idle gateway takes, as a share, and twice what a start takes. */
const IDLE_SHARE = 0.02;
const START_MICROS = 300_000;
/**
 * First requests take so much. A small young generation passes half of what they make to the old one, with its buffers;
 * and what they call runs at half the speed until it is optimized.
 */
const FIRST_MICROS = 50_000;
/** Half of the young generation, which is in use: twice of it saves no processor time at 50 streams, half of it costs as much again. */
const YOUNG_BYTES = 8 * 1024 * 1024;
/** Node's own modules bring compiled code that is good for the engine's defaults alone: what a start needs is loaded before. */
const builtins =
  "assert child_process crypto dns/promises fs/promises http https timers/promises worker_threads";

/** The launcher has a copy of this module, and the program another: one of them watches. */
const SHARED = Symbol.for("portico.engine");
const state = ((process as { [SHARED]?: { watch?: { disconnect(): void } } })[SHARED] ??= {});
/** One of what `process.nextTick` makes: were all gone at a full collection, the engine would forget their shape. */
const ticks: object[] = [];

function setFlags(flags: string): void {
  process.getBuiltinModule("node:v8").setFlagsFromString(flags); // it takes time to load, and commands do without
}

/** To be called before anything of ours is loaded: what the engine keeps of compiled code is good for one setting. */
export function holdEngine(): void {
  for (const name of builtins.split(" ")) process.getBuiltinModule(name);
  // without their shape it makes one in 230 ns instead of 50, and a request takes eight
  process.nextTick(() =>
    ticks.push(process.getBuiltinModule("node:async_hooks").executionAsyncResource()),
  );
  letEngineGoAtWork(START_MICROS);
  // the full collection that a start brings about can wait for its end
  setFlags("--semi-space-growth-factor=1 --no-opt --no-incremental-marking");
}

/**
 * Back to its defaults once there is so much work; a start is none. It looks after collections: work makes them, while a
 * timer would wake an idle process.
 */
export function letEngineGoAtWork(enough = FIRST_MICROS): void {
  state.watch?.disconnect();
  const { PerformanceObserver } = process.getBuiltinModule("node:perf_hooks");
  let before = Number.POSITIVE_INFINITY;
  let work = 0;
  let isAtWork = false;
  setFlags("--incremental-marking");
  const watch = (state.watch = new PerformanceObserver(() => {
    const { user, system } = process.cpuUsage();
    const beyondIdle = user + system - IDLE_SHARE * 1000 * performance.now();
    work = Math.max(0, work + beyondIdle - before);
    before = beyondIdle;
    isAtWork ||= work >= enough;
    if (isAtWork) goAtWork();
  }));
  watch.observe({ entryTypes: ["gc"] });
}

/** The engine gives back what an idle process does not need; it takes it again at once, or requests wait for small collections. */
function goAtWork(): void {
  const spaces = process.getBuiltinModule("node:v8").getHeapSpaceStatistics();
  const { space_used_size, space_available_size } = spaces.find(
    ({ space_name }) => space_name === "new_space",
  )!;
  const factor = Math.round(YOUNG_BYTES / (space_used_size + space_available_size));
  setFlags(`--semi-space-growth-factor=${Math.max(1, factor)} --opt`);
}
