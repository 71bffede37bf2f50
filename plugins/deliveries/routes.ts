/** The routes of deliveries: the list, a single delivery, and the replay. */
import { isSecretHeader, MASK, maskAddress, type PluginContext } from "portico";
import { choiceIn, limitIn, numberIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import { errors } from "./errors.ts";
import { DELIVERY, type DeliveryBody, deliveryItem, type StoredTarget } from "./message.ts";
import { deliveryRoutes, STATES } from "./routes-schema.ts";
import type { Sealing } from "./stored-target.ts";

/** A shortened id is searched among this number of the newest deliveries. */
const MAX_SEARCHED = 1000;

export function mountRoutes(ctx: PluginContext, sealing: Sealing): void {
  const { items, enqueue } = createLazyStore(ctx);

  ctx.route("GET", "/deliveries", deliveryRoutes.list, async ({ query }) => {
    const deliveries = await items().list({
      kind: DELIVERY,
      state: choiceIn(query, "state", STATES),
      before: numberIn(query, "before"),
      limit: limitIn(query, 50),
    });
    return { deliveries: deliveries.map((item) => viewDelivery(item as WorkItem<DeliveryBody>)) };
  });

  ctx.route("GET", "/deliveries/:id", deliveryRoutes.show, async ({ params }) => {
    const item = await findDelivery(params["id"] ?? "");
    const { target, message } = item.body;
    return { ...viewDelivery(item), ...viewSigning(target), message };
  });

  ctx.route("POST", "/deliveries/:id/replay", deliveryRoutes.replay, async ({ params }) => {
    const item = await findDelivery(params["id"] ?? "");
    if (await items().replay(item.id)) return { ok: true, deliveryId: item.id, replayOf: item.id };
    if (item.state !== "done") throw errors.notEnded({ id: item.id });
    const { target, message, principal = "outside" } = item.body;
    const key = `${item.id.slice("dlv_".length)}_${Date.now().toString(36)}`;
    const copy = deliveryItem(ctx, { of: key, target, message, principal });
    await enqueue({ items: [copy] });
    return { ok: true, deliveryId: copy.id, replayOf: item.id };
  });

  /** Returns what is added to each request, with secrets masked; an empty object if the secrets are not available. */
  function viewSigning(stored: StoredTarget): {
    signed?: boolean;
    headers?: Record<string, string>;
  } {
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

  /** Returns the delivery with this full or shortened id. Throws `not_found`. */
  async function findDelivery(id: string): Promise<WorkItem<DeliveryBody>> {
    const exact = await items().get(id);
    if (exact?.kind === DELIVERY) return exact as WorkItem<DeliveryBody>;
    const item = byShortId(await items().list({ kind: DELIVERY, limit: MAX_SEARCHED }), id);
    if (!item) throw errors.unknownDelivery({ id });
    return item as WorkItem<DeliveryBody>;
  }
}

/** Looks the store up at each call, because its plugin may be reloaded. */
function createLazyStore(ctx: PluginContext) {
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
