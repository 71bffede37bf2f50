/**
 * `npm run fuzz [-- SEED [COUNT]]` sends wide, deep and long texts to every entry point (alone: `npm run fuzz -- wide
 * [WORD…]`, for entry points whose name contains a word), then the requests that schemathesis generates from `/openapi.json`
 * (alone: `npm run fuzz -- schema [COUNT]`), then malformed input to every route and parser, by default 1,000,000 pieces, and
 * has as many responses of upstreams read by our parser and by Node's.
 * It fails if the gateway crashes, answers with an undocumented 5xx, computes for longer than 200 ms in one turn, reveals a
 * secret or a stack, or still holds a place or a connection at the end. It prints the input, which the seed reproduces.
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { parsers } from "./parsers.ts";
import { createRandom, mutate, randomText } from "./random.ts";
import { type Finding, sendBytes, sendRequest, type Target } from "./requests.ts";
import { fuzzResponses } from "./responses.ts";
import { fuzzSchema } from "./schema.ts";
import { startUpstream } from "./upstream.ts";
import { fuzzWide } from "./wide/run.ts";

const STALL_MS = 200;
const seed = Number(process.argv[2] ?? 1);
const total = Number(process.argv[3] ?? 1_000_000);
/** The number of requests. Most pieces are for parsers, since a request costs a hundred times as much. */
const requests = Math.round(total * 0.1);
const CONCURRENCY = 24;
/** The number of requests before stalls count. */
const WARM_UP = 3000;
/** The number of requests that schemathesis generates from `/openapi.json`. */
const SCHEMA_REQUESTS = 5000;
const failures: string[] = [];

if (process.argv[2] === "wide") {
  const wideFailures = await fuzzWide(process.argv.slice(3));
  for (const failure of wideFailures) console.log(`\n${failure}`);
  process.exit(wideFailures.length > 0 ? 1 : 0);
}
if (process.argv[2] === "schema") {
  const schemaFailures = await fuzzSchema(
    Number(process.argv[3] ?? SCHEMA_REQUESTS),
    process.argv[4],
  );
  for (const failure of schemaFailures) console.log(`\n${failure}`);
  process.exit(schemaFailures.length > 0 ? 1 : 0);
}
failures.push(...(await fuzzWide([])));
failures.push(...(await fuzzSchema(SCHEMA_REQUESTS)));
await fuzzParsers(total - requests);
failures.push(...fuzzResponses(createRandom(seed + 3), total));
await fuzzGateway(requests);
for (const failure of failures.slice(0, 40)) console.log(`\n${failure}`);
console.log(`\nseed ${seed}: ${total} pieces, ${failures.length} failures`);
process.exit(failures.length > 0 ? 1 : 0);

async function fuzzParsers(count: number): Promise<void> {
  const random = createRandom(seed);
  const textsPerParser = Math.floor(count / parsers.length);
  for (const { name, samples, parse } of parsers) {
    const began = performance.now();
    let refused = 0;
    for (let i = 0; i < textsPerParser; i++) {
      const text = random.chance(0.8) ? mutate(random, random.pick(samples)) : randomText(random);
      const from = process.cpuUsage();
      if (!(await accepts(name, parse, text))) refused++;
      const { user } = process.cpuUsage(from);
      if (user > STALL_MS * 1000)
        failures.push(`${name} takes ${user / 1000} ms for ${JSON.stringify(text.slice(0, 200))}`);
    }
    console.log(
      `${name}: ${textsPerParser} texts, ${refused} refused, ${Math.round(performance.now() - began)} ms`,
    );
  }
}

/** Returns true if the parser accepts the text. Records an error that is not a refusal as a failure. */
async function accepts(
  name: string,
  parse: (text: string) => unknown,
  text: string,
): Promise<boolean> {
  try {
    await parse(text);
    return true;
  } catch (error) {
    if (!isRefusal(error))
      failures.push(`${name} throws ${String(error)} on ${JSON.stringify(text)}`);
    return false;
  }
}

/** True if a parser threw the error on purpose. A runtime error of the language is a fault of the parser. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof RangeError) return false;
  return !/^Cannot (read|set)|is not a function/.test(error.message);
}

async function fuzzGateway(count: number): Promise<void> {
  const random = createRandom(seed + 1);
  const upstream = await startUpstream(createRandom(seed + 2));
  const channel = (provider: string, path = "") => ({
    provider,
    baseUrl: `${upstream.url}${path}`,
    apiKey: "key-of-the-upstream",
    maxRetries: 0,
    timeoutMs: 2000,
    idleTimeoutMs: 2000,
  });
  const config = {
    channels: {
      "bad-openai": channel("openai", "/v1"),
      "bad-anthropic": channel("anthropic"),
      "bad-gemini": channel("gemini"),
      "bad-ollama": channel("ollama"),
      "bad-mistral": channel("mistral"),
    },
    // No browser is launched, so its routes answer that none is running.
    browser: { attachOnly: true, headless: true },
    webhooks: {
      enabled: true,
      token: "webhook-token-of-the-fuzz",
      rateLimit: { maxRequests: 1_000_000, windowMs: 1000 },
    },
  };
  const child = fork(join(import.meta.dirname, "gateway-process.ts"), [JSON.stringify(config)], {
    execArgv: ["--import", "tsx"],
  });
  const messages: ((message: unknown) => void)[] = [];
  child.on("message", (message: { crash?: string }) => {
    if (message.crash) failures.push(`the gateway crashed: ${message.crash}`);
    messages.shift()?.(message);
  });
  child.on("exit", (code) => {
    if (code !== 0) failures.push(`the gateway ended with ${code}`);
    for (const waiting of messages.splice(0)) waiting({});
  });
  const next = <T>() =>
    new Promise<T>((resolve) => messages.push(resolve as (message: unknown) => void));
  const target = await next<Target>();
  // Reloading a plugin from its sources would compile it, unlike in the built product.
  const skipped =
    /^\/kernel\/(plugins|hooks)\/:name\/disable|^\/kernel\/plugins\/:name\/reload|\/events$/;
  target.routes = [
    ...target.routes.filter(([, path]) => !skipped.test(path)),
    ["GET", "/health"],
    ["GET", "/ready"],
    ["GET", "/kernel/status"],
    ["GET", "/kernel/hooks"],
    ["POST", "/kernel/hooks/:name/run"],
    ["GET", "/kernel/logs"],
  ];
  console.log(`${target.routes.length} routes`);
  const began = performance.now();
  let sent = 0;
  let answered = 0;
  const findings: Finding[] = [];
  const worker = async () => {
    while (sent < count && child.exitCode === null) {
      sent++;
      if (random.chance(0.05)) await sendBytes(random, target);
      else {
        const finding = await sendRequest(random, target);
        if (finding) findings.push(finding);
      }
      if (++answered === WARM_UP) child.send("warm");
      if (answered % 10_000 === 0)
        console.log(
          `${answered} requests, ${findings.length} findings, ${Math.round((performance.now() - began) / 1000)} s`,
        );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  for (const { what, status, code, body } of uniqueFindings(findings))
    failures.push(`${status} ${code} for\n${what}\n→ ${body}`);
  if (child.exitCode !== null) return;
  // Running requests end by their deadlines. After that, none may remain.
  let report = await ask();
  for (
    let tries = 0;
    tries < 30 &&
    (report.active > 0 || report.channels.some(({ inFlight, queued }) => inFlight + queued > 0));
    tries++
  ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    report = { ...(await ask()), stalls: report.stalls };
  }
  if (report.active > 0) failures.push(`${report.active} requests are still being answered`);
  for (const { name, inFlight, queued } of report.channels)
    if (inFlight + queued > 0)
      failures.push(`channel ${name} still holds ${inFlight} places and ${queued} waiting`);
  if (upstream.open() > 0) failures.push(`${upstream.open()} requests to the upstream are open`);
  if (report.stalls.length > 0)
    failures.push(
      [
        "stalls",
        ...report.stalls.slice(0, 20).map(({ ms, after }) => `${ms} ms after ${after.join("; ")}`),
      ].join("\n"),
    );
  console.log(
    `${count} requests in ${Math.round((performance.now() - began) / 1000)} s, ${report.rssMb} MB`,
  );
  child.send("stop");
  await new Promise((resolve) => child.once("exit", resolve));
  await upstream.close();

  interface Report {
    stalls: { ms: number; after: string[] }[];
    active: number;
    channels: { name: string; inFlight: number; queued: number }[];
    rssMb: number;
  }
  function ask(): Promise<Report> {
    const reply = next<Report>();
    child.send("report");
    return reply;
  }
}

/** Returns one finding of each kind, since the same fault may occur a thousand times. */
function uniqueFindings(findings: readonly Finding[]): Finding[] {
  const kinds = new Map<string, Finding>();
  for (const finding of findings) {
    const route = finding.what.split("\n")[0]?.replace(/\?.*/, "").split("/").slice(0, 3).join("/");
    const key = `${route} ${finding.status} ${finding.code}`;
    if (!kinds.has(key)) kinds.set(key, finding);
  }
  return [...kinds.values()];
}
