/** Hooks: the time from a save until it is live, memory over thousands of reloads, and the cost of a call. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  answering,
  descriptor,
  type HookHome,
  makeHookHome,
} from "../kernel/host/extensions/hooks/hook-home.ts";
import { median, percentile } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const saves = 200;
const reloads = 2000;
const calls = 1000;

export default async function bench(): Promise<Bench> {
  return {
    name: "hooks",
    figures: [...(await saveToLive()), ...(await memoryOfReloads()), ...(await costOfCalls())],
  };
}

const handler = (n: number) =>
  `import { word } from "./word.ts";\nconst ballast = Array.from({ length: 200 }, (_, i) => ({ i, n: ${n} }));\nexport default (event) => ({ reply: word + ballast.length + event.context.text });\n`;

async function saveToLive(): Promise<Figure[]> {
  const home = await makeHookHome({
    files: {
      "hooks/a/HOOK.md": descriptor(),
      "hooks/a/handler.ts": handler(0),
      "hooks/a/word.ts": 'export const word = "w";',
    },
  });
  await home.host.watching();
  const times: number[] = [];
  for (let n = 1; n <= saves; n++) {
    const before = home.host.info("a").loaded?.generation;
    const began = performance.now();
    home.write("hooks/a/handler.ts", handler(n));
    while (home.host.info("a").loaded?.generation === before) await sleep(1);
    times.push(performance.now() - began);
    await sleep(Math.random() * 40);
  }
  await home.stop();
  return [
    { what: "save to live, median", value: round(median(times)), unit: "ms", limit: 50 },
    {
      what: "save to live, 95th percentile",
      value: round(percentile(times, 0.95)),
      unit: "ms",
      limit: 200,
    },
  ];
}

async function memoryOfReloads(): Promise<Figure[]> {
  const home = await makeHookHome({
    files: {
      "hooks/a/HOOK.md": descriptor(),
      "hooks/a/handler.ts": handler(0),
      "hooks/a/word.ts": 'export const word = "w";',
    },
  });
  const reload = async (n: number) => {
    home.write("hooks/a/handler.ts", handler(n));
    await home.host.rescan();
    await home.ask("q");
    home.lines.length = 0;
  };
  for (let n = 0; n < 100; n++) await reload(n);
  const before = heap();
  const began = performance.now();
  for (let n = 0; n < reloads; n++) await reload(1000 + n);
  const ms = (performance.now() - began) / reloads;
  const growth = heap() - before;
  const generation = home.host.info("a").loaded?.generation ?? 0;
  await home.stop();
  if (generation < reloads) throw new Error(`only ${generation} of ${reloads} reloads took place`);
  return [
    { what: `heap grown by ${reloads} reloads`, value: round(growth / 1e6), unit: "MB", limit: 10 },
    { what: "one reload, write included", value: round(ms), unit: "ms" },
  ];
}

async function costOfCalls(): Promise<Figure[]> {
  const home = await makeHookHome();
  const none = await perCall(home);
  home.bus.on("test:asked", () => ({ reply: "x" }));
  const bare = await perCall(home);
  home.write("hooks/a/handler.ts", answering("x"));
  home.write("hooks/a/HOOK.md", descriptor("priority: 1"));
  await home.host.rescan();
  const hook = await perCall(home);
  await home.stop();
  return [
    { what: "event without handlers", value: round(none), unit: "µs", limit: 1 },
    { what: "event with a plugin's handler", value: round(bare), unit: "µs" },
    {
      what: "event with a user's hook, its own copy and time limit included",
      value: round(hook),
      unit: "µs",
    },
  ];
}

/** Returns the best of five rounds in µs, since other work on the machine only adds time. */
async function perCall(home: HookHome): Promise<number> {
  const context = { text: "q", list: [], fixed: "stays" };
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const began = performance.now();
    for (let n = 0; n < calls; n++) await home.bus.emit("test:asked", context);
    best = Math.min(best, ((performance.now() - began) / calls) * 1000);
  }
  return best;
}

function heap(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  for (let round = 0; round < 4; round++) gc();
  return process.memoryUsage().heapUsed;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
