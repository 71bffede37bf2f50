/** Makes one turn or event of each burst when it is over. The store holds bursts, so that they survive a crash. */
import type { PluginContext } from "portico";
import { createClaimLoop } from "portico/schedules";
import type { Claim, NewItem } from "portico/store";
import { BURST, principalOfMapping, SOURCE } from "../started-work.ts";
import type { Rendering } from "../mappings/rendering.ts";
import { combineIntoEvent, combineIntoTurn } from "./combine.ts";

const LEASE_MS = 10_000;
const MAX_LANES = 8;
const MAX_DELIVERIES = 1000;
const START_DELAY_MS = 60;

export function startBursts(ctx: PluginContext): void {
  const store = () => ctx.use("store");

  async function endBurst(claim: Claim<Rendering>): Promise<void> {
    const { item } = claim;
    const otherItems = await store().drain(item.lane, BURST, MAX_DELIVERIES, item.id);
    const deliveries = [item, ...otherItems].map(({ body }) => body as Rendering);
    const result = combine(deliveries);
    await store().finish(
      claim,
      { state: "done", result: { became: result.id } },
      { items: [result.item] },
    );
  }

  function combine(deliveries: readonly Rendering[]): { id: string; item: NewItem } {
    const agent = ctx.use("agent");
    const { action, mapping } = deliveries[0] as Rendering;
    if (action !== "wake") {
      const { turnId, item } = agent.turnItem(combineIntoTurn(deliveries));
      return { id: turnId, item };
    }
    const principal = principalOfMapping({ name: mapping });
    const event = { ...combineIntoEvent(deliveries), source: SOURCE, principal };
    const { eventId, item } = agent.wakeItem(event);
    return { id: eventId, item };
  }

  const loop = createClaimLoop<Rendering>({
    store,
    log: ctx.log,
    kinds: [BURST],
    leaseMs: LEASE_MS,
    most: () => MAX_LANES,
    run: endBurst,
  });
  const startTimer = setTimeout(loop.start, START_DELAY_MS).unref();
  ctx.defer(() => {
    clearTimeout(startTimer);
    return loop.stop();
  });
}
