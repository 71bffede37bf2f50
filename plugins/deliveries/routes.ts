/** What is going out: listing, single deliveries, replays. */
import { isSecretHeader, MASK, maskAddress, type PluginContext } from "portico";
import { choiceIn, limitIn, numberIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import { errors } from "./errors.ts";
import { DELIVERY, type DeliveryBody, deliveryItem, type StoredTarget } from "./message.ts";
import { deliveryRoutes, STATES } from "./routes-schema.ts";
import type { Sealing } from "./stored-target.ts";

/** Of the newest, for ids that are given in short. */
const MOST_LOOKED_AT = 1000;

export function mountRoutes(ctx: PluginContext, sealing: Sealing): void {
  const { items, enqueue } = lazyStore(ctx);

  ctx.route("GET", "/deliveries", deliveryRoutes.list, async ({ query }) => {
    const listed = await items().list({
      kind: DELIVERY,
      state: choiceIn(query, "state", STATES),
      before: numberIn(query, "before"),
      limit: limitIn(query, 50),
    });
    return { deliveries: listed.map((item) => viewDelivery(item as WorkItem<DeliveryBody>)) };
  });

  ctx.route("GET", "/deliveries/:id", deliveryRoutes.show, async ({ params }) => {
    const item = await find(params["id"] ?? "");
    const { target, message } = item.body;
    return { ...viewDelivery(item), ...signing(target), message };
  });

  ctx.route("POST", "/deliveries/:id/replay", deliveryRoutes.replay, async ({ params }) => {
    const item = await find(params["id"] ?? "");
    if (await items().replay(item.id)) return { ok: true, deliveryId: item.id, replayOf: item.id };
    if (item.state !== "done") throw errors.notEnded({ id: item.id });
    const { target, message, principal = "outside" } = item.body;
    const of = `${item.id.slice("dlv_".length)}_${Date.now().toString(36)}`;
    const again = deliveryItem(ctx, { of, target, message, principal });
    await enqueue({ items: [again] });
    return { ok: true, deliveryId: again.id, replayOf: item.id };
  });

  /** What is added to each request, secrets masked; nothing where the secrets are gone. */
  function signing(stored: StoredTarget): { signed?: boolean; headers?: Record<string, string> } {
    try {
      const { secret, headers = {} } = sealing.open(stored);
      const masked = Object.entries(headers).map(([name, value]) => [
        name,
        isSecretHeader(name) ? MASK : value,
      ]);
      return { signed: secret !== undefined, headers: Object.fromEntries(masked) };
    } catch {
      return {};
    }
  }

  /** By its id, in short too. */
  async function find(id: string): Promise<WorkItem<DeliveryBody>> {
    const exact = await items().get(id);
    if (exact?.kind === DELIVERY) return exact as WorkItem<DeliveryBody>;
    const item = byShortId(await items().list({ kind: DELIVERY, limit: MOST_LOOKED_AT }), id);
    if (!item) throw errors.unknownDelivery({ id });
    return item as WorkItem<DeliveryBody>;
  }
}

/** The store of each moment: its plugin may be reloaded. */
function lazyStore(ctx: PluginContext) {
  return {
    items: () => ctx.use("store").items,
    enqueue: (batch: Parameters<ReturnType<typeof ctx.use<"store">>["enqueue"]>[0]) =>
      ctx.use("store").enqueue(batch),
  };
}

function viewDelivery({
  id,
  seq,
  state,
  body,
  attempts,
  maxAttempts,
  createdAt,
  finishedAt,
  retryAt,
  result,
  error,
}: WorkItem<DeliveryBody>) {
  const iso = (at: number | undefined) =>
    at === undefined ? undefined : new Date(at).toISOString();
  return {
    id,
    seq,
    url: maskAddress(body.target.url),
    type: body.message.type,
    principal: body.principal,
    turnId: body.message.data["turnId"],
    state,
    attempts,
    maxAttempts,
    createdAt: iso(createdAt),
    finishedAt: iso(finishedAt),
    nextAttemptAt: iso(retryAt),
    status: (result as { status?: number } | undefined)?.status,
    error: state === "done" ? undefined : error,
  };
}
