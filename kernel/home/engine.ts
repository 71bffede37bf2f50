/**
 * What V8 takes to be fast and an idle process would not give back: for what a start makes and keeps, a young generation of
 * 16 MB; for what it calls often and then never again, the optimizing compiler, of whose code 4 MB are read in.
 */

const LOOK_MS = 100;
/** Of processor time: thrice what an idle gateway takes between two looks, and twice what a start takes. */
const IDLE_MICROS = 2_000;
const WORK_MICROS = 300_000;
/** First requests take so much: a small young generation passes half of what they make to the old one, with its buffers. */
const FIRST_MICROS = 50_000;
/** Half of the young generation, which is in use: twice of it saves no processor time at 50 streams, half of it costs as much again. */
const YOUNG_BYTES = 8 * 1024 * 1024;
/** Node's own modules bring compiled code that is good for the engine's defaults alone: these are loaded before. */
const builtins = ["crypto", "http", "https", "os", "perf_hooks", "worker_threads", "zlib"];

/** The launcher has a copy of this module, and the program another: one of them watches. */
const SHARED = Symbol.for("portico.engine");
const state = ((process as { [SHARED]?: { watch?: NodeJS.Timeout; observes?: boolean } })[SHARED] ??= {});
/** One of what `process.nextTick` makes: were all gone at a full collection, the engine would forget their shape. */
const ticks: object[] = [];

function setFlags(flags: string): void {
  process.getBuiltinModule("node:v8").setFlagsFromString(flags); // it takes time to load, and commands do without
}

/** To be called before anything of ours is loaded: what the engine keeps of compiled code is good for one setting. */
export function holdEngine(): void {
  for (const name of builtins) process.getBuiltinModule(name);
  // without their shape it makes one in 230 ns instead of 50, and a request takes eight
  process.nextTick(() => ticks.push(process.getBuiltinModule("node:async_hooks").executionAsyncResource()));
  setFlags("--semi-space-growth-factor=1 --no-opt");
  letEngineGoAtWork(WORK_MICROS);
}

/** Back to its defaults once there is work; a start is none. `first`: after so much of it the young generation grows. */
export function letEngineGoAtWork(first = FIRST_MICROS): void {
  clearInterval(state.watch);
  let before = Number.POSITIVE_INFINITY;
  let work = 0;
  state.watch = setInterval(() => {
    const { user, system } = process.cpuUsage();
    work = Math.max(0, work + user + system - before - IDLE_MICROS);
    before = user + system;
    if (work >= first && !state.observes) {
      state.observes = true;
      growYoung();
      const { PerformanceObserver } = process.getBuiltinModule("node:perf_hooks");
      new PerformanceObserver(growYoung).observe({ entryTypes: ["gc"] });
    }
    if (work < WORK_MICROS) return;
    clearInterval(state.watch);
    setFlags("--opt");
  }, LOOK_MS).unref();
}

/** The engine gives back what an idle process does not need; it takes it again at once, or requests wait for small collections. */
function growYoung(): void {
  const spaces = process.getBuiltinModule("node:v8").getHeapSpaceStatistics();
  const { space_used_size, space_available_size } = spaces.find(({ space_name }) => space_name === "new_space")!;
  const factor = Math.round(YOUNG_BYTES / (space_used_size + space_available_size));
  setFlags(`--semi-space-growth-factor=${Math.max(1, factor)}`);
}
