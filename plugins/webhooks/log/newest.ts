/** Lists the newest rows of the delivery log. Refused requests get at most half of the rows if there are enough others. */
import type { Delivery, Store } from "portico/store";
import { ACCEPTED, REFUSED } from "./delivery-log.ts";

export async function listNewestDeliveries(
  { deliveries }: Pick<Store, "deliveries">,
  filter: { limit: number; source?: string | undefined; before?: number | undefined },
): Promise<Delivery[]> {
  const { limit } = filter;
  const newest = await deliveries.list(filter);
  const refused = newest.filter(({ outcome }) => REFUSED.includes(outcome));
  const refusedShare = Math.floor(limit / 2);
  if (newest.length < limit || refused.length <= refusedShare) return newest;
  const others = (
    await Promise.all(ACCEPTED.map((outcome) => deliveries.list({ ...filter, outcome })))
  )
    .flat()
    .sort(newestFirst)
    .slice(0, limit - refusedShare);
  return [...others, ...refused.slice(0, limit - others.length)].sort(newestFirst);
}

const newestFirst = (first: Delivery, second: Delivery): number => second.at - first.at;
