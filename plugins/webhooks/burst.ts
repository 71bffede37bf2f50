/** Makes one turn (or event) of each burst once it is over. Durable: a burst survives a crash at any moment. */
import { hostname } from "node:os";
import type { Claim, PluginContext } from "portico";
import { BURST, turnOf, wakeOf } from "./jobs.ts";
import type { Rendering } from "./rendering.ts";

const LEASE_MS = 10_000;
const LANES = 8;
const MOST_DELIVERIES = 1000;
const LONGEST_SLEEP_MS = 5000;
const START_AFTER_MS = 60;

export function startBursts(ctx: PluginContext): void {
  const worker = `webhooks:${hostname()}:${process.pid}:${Math.random().toString(36).slice(2, 8)}`;
  const store = () => ctx.use("store");
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  function poke(): void {
    again = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }

  async function look(): Promise<void> {
    clearTimeout(timer);
    let sleepMs = LONGEST_SLEEP_MS;
    try {
      while (again && !stopped) {
        again = false;
        const claims = await store().claim(worker, LANES, LEASE_MS, [BURST]);
        for (const claim of claims) await end(claim as Claim<Rendering>);
        again ||= claims.length > 0;
      }
      const next = await store().nextWorkAt([BURST]);
      if (next !== undefined) sleepMs = Math.max(5, next - store().now());
    } catch (error) {
      ctx.log.warn({ err: error }, "could not look for bursts that are over");
    }
    if (!stopped) timer = setTimeout(poke, Math.min(sleepMs, LONGEST_SLEEP_MS)).unref();
  }

  async function end(claim: Claim<Rendering>): Promise<void> {
    const { item } = claim;
    const others = await store().drain(item.lane, BURST, MOST_DELIVERIES, item.id);
    const deliveries = [item, ...others].map(({ body }) => body as Rendering);
    const agent = ctx.use("agent");
    const made =
      item.body.action === "wake"
        ? agent.wakeItem({ ...wakeOf(deliveries), source: "webhook" })
        : agent.turnItem(turnOf(deliveries));
    const id = "turnId" in made ? made.turnId : made.eventId;
    await store().finish(claim, { state: "done", result: { became: id } }, { items: [made.item] });
  }

  timer = setTimeout(poke, START_AFTER_MS).unref();
  const unsubscribe = store().onWork(BURST, poke);
  ctx.defer(async () => {
    stopped = true;
    unsubscribe();
    clearTimeout(timer);
    await looking;
  });
}
