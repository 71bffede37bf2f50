/** Lists the newest rows of the delivery log. Refused requests get at most half of the rows if there are enough others. */
import type { Delivery, Store } from "portico/store";
import { ACCEPTED, REFUSED } from "./delivery-log.ts";

export async function listNewestDeliveries(
  { deliveries }: Pick<Store, "deliveries">,
  filter: { limit: number; source?: string | undefined; before?: number | undefined },
): Promise<Delivery[]> {
  const { limit } = filter;
  const newest = await deliveries.list(filter);
  const refusedRows = newest.filter(({ outcome }) => REFUSED.includes(outcome));
  const refusedShare = Math.floor(limit / 2);
  if (newest.length < limit || refusedRows.length <= refusedShare) return newest;
  const otherRows = (
    await Promise.all(ACCEPTED.map((outcome) => deliveries.list({ ...filter, outcome })))
  )
    .flat()
    .sort(newestFirst)
    .slice(0, limit - refusedShare);
  return [...otherRows, ...refusedRows.slice(0, limit - otherRows.length)].sort(newestFirst);
}

const newestFirst = (first: Delivery, second: Delivery): number => second.at - first.at;
