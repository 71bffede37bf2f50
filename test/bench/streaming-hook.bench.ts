/**
 * Measures the cost of a trivial handler of `message:streaming`: two built gateways, with and without it, alternate with the
 * same 50 streams of 100 chunks. The upstream writes twenty chunks at a time, or each one separately.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { temporaryDir } from "../support/temporary.ts";
import { streamOn } from "./chat/chat-load.ts";
import type { StreamPlan } from "./chat/chat-parts.ts";
import { BENCH_KEY } from "./chat/proxy-request.ts";
import { build, end, startBuilt, type Subject } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { type Load, load } from "./harness/load.ts";
import { median, ratios } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 15;
const MIN_RATIO = 0.8;
const HOOK = {
  "hooks/trivial/HOOK.md": "---\nevents: [message:streaming]\n---\n\n# A hook\n",
  "hooks/trivial/handler.ts":
    "export default (event) => {\n  event.context.text = event.context.text;\n};\n",
};
/** The upstream's ways of writing, each with its plan. */
const PLANS: Record<string, StreamPlan> = {
  "20 chunks a write": { chunks: 100, delayMs: 0 },
  "a chunk a write": { chunks: 100, delayMs: 0, bytes: 5 },
};

export default async function bench(): Promise<Bench> {
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  build();
  const upstream = fork(parts, ["upstream"], { execArgv: [] });
  const children = [upstream];
  try {
    const [{ port }] = (await once(upstream, "message")) as [{ port: number }];
    const main = { provider: "openai", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: BENCH_KEY };
    const start = async (files?: Record<string, string>) => {
      const gateway = await startBuilt({ config: { channels: { main } }, files });
      children.push(gateway.process);
      return gateway;
    };
    const [without, withHook] = [await start(), await start(HOOK)];
    const figures: Figure[] = [];
    for (const [how, plan] of Object.entries(PLANS))
      figures.push(...(await compare(how, plan, without, withHook)));
    return { name: "message:streaming", figures };
  } finally {
    await Promise.all(children.map(end));
  }
}

async function compare(
  how: string,
  plan: StreamPlan,
  without: Subject,
  withHook: Subject,
): Promise<Figure[]> {
  const [bare, hooked]: [Load[], Load[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const readings = [await streams(without, plan), await streams(withHook, plan)] as const;
    if (round === 0) continue; // the first round is a warm-up
    bare.push(readings[0]);
    hooked.push(readings[1]);
  }
  const rates = (loads: readonly Load[]) => loads.map(({ perSecond }) => perSecond * plan.chunks);
  const cpu = (loads: readonly Load[]) => median(loads.map(({ micros }) => micros));
  const ratio = ratios(rates(hooked), rates(bare));
  return [
    { what: `${how}: without a handler`, value: median(rates(bare)), unit: "chunks/s" },
    { what: `${how}: with one`, value: median(rates(hooked)), unit: "chunks/s" },
    { what: `${how}: CPU without`, value: cpu(bare), unit: "µs/stream" },
    { what: `${how}: CPU with one`, value: cpu(hooked), unit: "µs/stream" },
    {
      what: `${how}: ratio`,
      ...ratio,
      unit: "×",
      limit: MIN_RATIO,
      bound: "min",
      ratioTo: "no handler",
    },
  ];
}

function streams(subject: Subject, plan: StreamPlan): Promise<Load> {
  return load(subject, { connections: 50, count: 500 }, async (socket) => {
    const { complete } = await streamOn(socket, subject, plan);
    if (!complete) throw new Error("a stream is not whole");
  });
}
