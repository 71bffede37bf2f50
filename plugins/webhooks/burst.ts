/** Makes one turn (or event) of each burst once it is over. Durable: a burst survives a crash at any moment. */
import type { PluginContext } from "portico";
import { createClaimLoop } from "portico/schedules";
import type { Claim } from "portico/store";
import { BURST, principalOfMapping, turnOf, wakeOf } from "./jobs.ts";
import type { Rendering } from "./mappings/rendering.ts";

const LEASE_MS = 10_000;
const LANES = 8;
const MOST_DELIVERIES = 1000;
const START_AFTER_MS = 60;

export function startBursts(ctx: PluginContext): void {
  const store = () => ctx.use("store");

  async function end(claim: Claim<Rendering>): Promise<void> {
    const { item } = claim;
    const others = await store().drain(item.lane, BURST, MOST_DELIVERIES, item.id);
    const deliveries = [item, ...others].map(({ body }) => body as Rendering);
    const agent = ctx.use("agent");
    const principal = principalOfMapping({ name: item.body.mapping });
    const made =
      item.body.action === "wake"
        ? agent.wakeItem({ ...wakeOf(deliveries), source: "webhook", principal })
        : agent.turnItem(turnOf(deliveries));
    const id = "turnId" in made ? made.turnId : made.eventId;
    await store().finish(claim, { state: "done", result: { became: id } }, { items: [made.item] });
  }

  const loop = createClaimLoop<Rendering>({
    store,
    log: ctx.log,
    kinds: [BURST],
    leaseMs: LEASE_MS,
    most: () => LANES,
    run: end,
  });
  const starting = setTimeout(loop.start, START_AFTER_MS).unref();
  ctx.defer(() => {
    clearTimeout(starting);
    return loop.stop();
  });
}
