/**
 * Sends turns by webhook to several gateways, or to the workers of one gateway, that share a PostgreSQL. Measures the time
 * until 400 turns of 20 callers are accepted and done, compared with a single gateway. Also counts refusals, deadlocks and
 * long lock waits.
 */
import { startPostgres } from "../support/machine/postgres.ts";
import { type BuiltGateway, build, end, startBuilt } from "./harness/built.ts";
import { median } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const CALLERS = 20;
const TURNS = 400;
const ROUNDS = 3;
const GIVE_UP_MS = 120_000;
const TOKEN = "bench-token";
/** The limit for acceptance by several gateways, as a multiple of the time of one gateway. */
const SLOWEST = 3;

interface Setup {
  what: string;
  gateways: number;
  workers: number;
}

const SETUPS: readonly Setup[] = [
  { what: "1 gateway", gateways: 1, workers: 1 },
  { what: "2 gateways", gateways: 2, workers: 1 },
  { what: "4 gateways", gateways: 4, workers: 1 },
  { what: "1 gateway with 2 workers", gateways: 1, workers: 2 },
  { what: "1 gateway with 4 workers", gateways: 1, workers: 4 },
];

/** The medians of the rounds, and the numbers of events that must not occur. */
interface Result {
  acceptedMs: number;
  doneMs: number;
  refusals: number;
  deadlocks: number;
  lockWaits: number;
}

export default async function bench(): Promise<Bench> {
  build();
  const figures: Figure[] = [];
  let alone: Result | undefined;
  for (const setup of SETUPS) {
    const result = await measure(setup);
    alone ??= result;
    figures.push(...figuresOf(setup.what, result, alone));
  }
  return { name: "gateways", figures };
}

function figuresOf(what: string, result: Result, alone: Result): Figure[] {
  const accepted = `${what}: ${TURNS} turns accepted`;
  return [
    { what: accepted, value: result.acceptedMs, unit: "ms", limit: alone.acceptedMs * SLOWEST },
    { what: `${what}: all of them done`, value: result.doneMs, unit: "ms" },
    { what: `${what}: requests that were refused`, value: result.refusals, unit: "", limit: 0 },
    { what: `${what}: deadlocks`, value: result.deadlocks, unit: "", limit: 0 },
    { what: `${what}: lock waits above 100 ms`, value: result.lockWaits, unit: "" },
  ];
}

async function measure({ gateways: count, workers }: Setup): Promise<Result> {
  const server = await startPostgres();
  const gateways: BuiltGateway[] = [];
  try {
    const config = configOf(server.emptyUrl(), workers);
    for (let n = 0; n < count; n++) gateways.push(await startBuilt({ config }));
    await round(gateways, "warm-up");
    const rounds: Awaited<ReturnType<typeof round>>[] = [];
    for (let n = 0; n < ROUNDS; n++) rounds.push(await round(gateways, `round-${n}`));
    const log = server.log();
    return {
      acceptedMs: median(rounds.map(({ acceptedMs }) => acceptedMs)),
      doneMs: median(rounds.map(({ doneMs }) => doneMs)),
      refusals: rounds.reduce((sum, { refusals }) => sum + refusals, 0),
      deadlocks: countOf(log, "deadlock detected"),
      lockWaits: countOf(log, "still waiting for"),
    };
  } finally {
    await Promise.all(gateways.map(({ process: child }) => end(child)));
    // `stop` throws if there were deadlocks, but here they are a figure
    await server.stop().catch(() => {});
  }
}

function configOf(url: string, workers: number): object {
  return {
    gateway: { port: 0, workers },
    store: { url },
    agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
    webhooks: { token: TOKEN, rateLimit: { maxRequests: 1_000_000, windowMs: 60_000 } },
  };
}

const countOf = (text: string, words: string): number => text.split(words).length - 1;

/** Runs one round. Each turn has its own session, and the callers alternate between the gateways. */
async function round(
  gateways: readonly BuiltGateway[],
  name: string,
): Promise<{ acceptedMs: number; doneMs: number; refusals: number }> {
  const began = performance.now();
  const turnIds: string[] = [];
  let refusals = 0;
  let next = 0;
  const caller = async () => {
    for (let n = next++; n < TURNS; n = next++) {
      const { port } = gateways[n % gateways.length]!;
      const { status, turnId } = await send(port, `${name}-${n}`);
      if (turnId === undefined) refusals++;
      else turnIds.push(turnId);
      if (status >= 500) next--;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const acceptedMs = performance.now() - began;
  await untilDone(gateways[0]!, turnIds);
  return { acceptedMs, doneMs: performance.now() - began, refusals };
}

async function send(port: number, session: string): Promise<{ status: number; turnId?: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/hooks/agent`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ message: "The build is red.", session }),
  });
  const { turnId } = (await response.json()) as { turnId?: string };
  return { status: response.status, ...(response.ok && turnId !== undefined && { turnId }) };
}

async function untilDone({ port }: BuiltGateway, turnIds: readonly string[]): Promise<void> {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (const id of turnIds) {
    while ((await stateOf(port, id)) !== "done") {
      if (performance.now() > giveUpAt) throw new Error(`The turn ${id} did not end in time.`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function stateOf(port: number, turnId: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/hooks/turns/${turnId}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return ((await response.json()) as { state: string }).state;
}
