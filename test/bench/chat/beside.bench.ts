/**
 * Compares chats with a bare proxy, which passes bytes through, and with a plain translator, which parses and encodes each
 * event. Each runs in its own process, and their rounds alternate, so that a busy machine slows all of them equally. The
 * load comes over raw sockets.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { build, end, startBuilt, type Subject } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import { load } from "../harness/load.ts";
import { median, ratios, residentMegabytes } from "../harness/measure.ts";
import type { Bench, Figure } from "../run.ts";
import { exchange, chatRequest, streamOn, streamOnce } from "./chat-load.ts";
import { BENCH_HEADER, BENCH_KEY } from "./proxy-request.ts";

const ROUNDS = Number(process.env["PORTICO_BENCH_ROUNDS"] ?? 9);
/** The number of warm-up rounds. V8 optimises a gateway later than a proxy, whose code is smaller. */
const WARM_UP = 3;
const CONNECTIONS = 50;
const FAST = { chunks: 1000, delayMs: 0 };
const PACED = { chunks: 10, delayMs: 20 };
const SHORT = { chunks: 100, delayMs: 0 };
const HOOK = {
  "hooks/trivial/HOOK.md": "---\nevents: [message:streaming]\n---\n\n# A hook\n",
  "hooks/trivial/handler.ts":
    "export default (event) => {\n  event.context.text = event.context.text;\n};\n",
};
const FORMATS = ["openai", "anthropic", "gemini"] as const;
type Format = (typeof FORMATS)[number];

interface Subjects {
  pass: Subject;
  plain: Record<Format, Subject>;
  /** Gateways with a channel of each format. */
  portico: Record<Format, Subject>;
  hooked: Subject;
  /** Subjects whose upstream answers with whole responses. */
  whole: { pass: Subject; portico: Subject };
}

export default async function bench(): Promise<Bench> {
  build();
  const children: ChildProcess[] = [];
  try {
    const subjects = await startAll(children);
    const figures = [
      ...(await chunkRates(subjects)),
      ...(await firstChunk(subjects)),
      ...(await wholeResponses(subjects)),
      ...(await memory(subjects)),
    ];
    return { name: "chats beside a pass-through and a plain translator", figures };
  } finally {
    await Promise.all(children.map(end));
  }
}

async function startAll(children: ChildProcess[]): Promise<Subjects> {
  const file = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", file);
  const start = async (name: string, ...args: string[]): Promise<Subject> => {
    const child = fork(file, args, { execArgv: [] });
    children.push(child);
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return { name, port, headers: BENCH_HEADER, process: child };
  };
  const gateway = async (upstream: Subject, provider: Format, files?: Record<string, string>) => {
    const root = `http://127.0.0.1:${upstream.port}`;
    const baseUrl = provider === "openai" ? `${root}/v1` : root;
    const main = { provider, baseUrl, apiKey: BENCH_KEY, models: ["*"] };
    const subject = await startBuilt({ config: { channels: { main } }, files });
    children.push(subject.process);
    return subject;
  };
  const upstream = await start("upstream", "formats");
  const whole = await start("upstream of whole responses", "upstream");
  const at = String(upstream.port);
  const plain = (format: Format) => start(`plain translator of ${format}`, "plain", at, format);
  return {
    pass: await start("pass-through", "bare", at),
    plain: {
      openai: await plain("openai"),
      anthropic: await plain("anthropic"),
      gemini: await plain("gemini"),
    },
    portico: {
      openai: await gateway(upstream, "openai"),
      anthropic: await gateway(upstream, "anthropic"),
      gemini: await gateway(upstream, "gemini"),
    },
    hooked: await gateway(upstream, "openai", HOOK),
    whole: {
      pass: await start("pass-through", "bare", String(whole.port)),
      portico: await gateway(whole, "openai"),
    },
  };
}

/** Takes readings of the subjects in alternation. The first rounds are a warm-up. */
async function readInTurns<T>(
  subjects: readonly Subject[],
  read: (subject: Subject) => Promise<T>,
): Promise<Map<Subject, T[]>> {
  const readings = new Map(subjects.map((subject) => [subject, [] as T[]]));
  for (let round = -WARM_UP; round < ROUNDS; round++)
    for (const [subject, values] of readings) {
      const reading = await read(subject);
      if (round >= 0) values.push(reading);
    }
  return readings;
}

async function chunkRates({ pass, plain, portico, hooked }: Subjects): Promise<Figure[]> {
  const all = [pass, ...Object.values(plain), ...Object.values(portico), hooked];
  const rates = await readInTurns(all, async (subject) => {
    const { perSecond } = await load(
      subject,
      { connections: CONNECTIONS, count: CONNECTIONS },
      (socket) => streamWhole(socket, subject, FAST),
    );
    return perSecond * FAST.chunks;
  });
  const rate = (what: string, subject: Subject): Figure => ({
    what: `${CONNECTIONS} streams: ${what}`,
    value: median(rates.get(subject)!),
    unit: "chunks/s",
  });
  const against = (what: string, ours: Subject, theirs: Subject, limit: number): Figure => ({
    what: `${what}: ratio`,
    ...ratios(rates.get(ours)!, rates.get(theirs)!),
    unit: "×",
    limit,
    bound: "min",
    ratioTo: theirs.name,
  });
  const translated = (["anthropic", "gemini"] as const).flatMap((format) => [
    rate(plain[format].name, plain[format]),
    rate(`portico, ${format} to OpenAI`, portico[format]),
    against(`${format} to OpenAI`, portico[format], plain[format], 0.8),
  ]);
  return [
    rate(pass.name, pass),
    rate(plain.openai.name, plain.openai),
    rate("portico, OpenAI to OpenAI", portico.openai),
    against("OpenAI to OpenAI", portico.openai, pass, 0.8),
    ...translated,
    rate("portico with a trivial hook on message:streaming", hooked),
    against("with the hook", hooked, pass, 0.5),
  ];
}

async function streamWhole(...[socket, subject, plan]: Parameters<typeof streamOn>): Promise<void> {
  const { complete } = await streamOn(socket, subject, plan);
  if (!complete) throw new Error(`A stream of ${subject.name} is not whole.`);
}

/** Measures the time to the first byte of streams that start one after another. */
async function firstChunk({ pass, portico }: Subjects): Promise<Figure[]> {
  const times = await readInTurns([pass, portico.openai], async (subject) => {
    const reads = Array.from({ length: CONNECTIONS }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 3));
      return (await streamOnce(subject, PACED)).firstMs;
    });
    return median(await Promise.all(reads));
  });
  const [theirs, ours] = [median(times.get(pass)!), median(times.get(portico.openai)!)];
  return [
    { what: "first chunk: pass-through", value: theirs, unit: "ms" },
    { what: "first chunk: portico", value: ours, unit: "ms" },
    {
      what: "first chunk: later than the pass-through",
      value: ours - theirs,
      unit: "ms",
      limit: 1,
    },
  ];
}

async function wholeResponses({ whole: { pass, portico } }: Subjects): Promise<Figure[]> {
  const loads = await readInTurns([pass, portico], (subject) => {
    const request = chatRequest(subject, {});
    return load(subject, { connections: CONNECTIONS, count: 10_000 }, (socket) =>
      exchange(socket, request),
    );
  });
  const micros = (subject: Subject) => loads.get(subject)!.map((reading) => reading.micros);
  const perSecond = (subject: Subject) =>
    median(loads.get(subject)!.map((reading) => reading.perSecond));
  return [
    { what: "whole responses: pass-through", value: perSecond(pass), unit: "req/s" },
    { what: "whole responses: portico", value: perSecond(portico), unit: "req/s" },
    { what: "whole responses: CPU, pass-through", value: median(micros(pass)), unit: "µs/req" },
    { what: "whole responses: CPU, portico", value: median(micros(portico)), unit: "µs/req" },
    {
      what: "whole responses: CPU, ratio",
      ...ratios(micros(portico), micros(pass)),
      unit: "×",
      limit: 1.25,
      ratioTo: "the pass-through",
    },
  ];
}

/** Measures memory after 5,000 further streams. The earlier rounds have warmed both up. */
async function memory({ pass, portico }: Subjects): Promise<Figure[]> {
  const resident = async (subject: Subject) => {
    await load(subject, { connections: CONNECTIONS, count: 5000 }, (socket) =>
      streamWhole(socket, subject, SHORT),
    );
    return residentMegabytes(subject.process.pid!);
  };
  const [theirs, ours] = [await resident(pass), await resident(portico.openai)];
  return [
    { what: "RSS after 5,000 streams: pass-through", value: theirs, unit: "MB" },
    { what: "RSS after 5,000 streams: portico", value: ours, unit: "MB" },
    {
      what: "RSS after 5,000 streams: ratio",
      value: ours / theirs,
      unit: "×",
      limit: 1.5,
      ratioTo: "the pass-through",
    },
  ];
}
