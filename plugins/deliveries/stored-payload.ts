/**
 * Payloads as the store holds them: the secrets in the target of a delivery are a reference to the configuration, or
 * encrypted. Without the plugin `deliveries`, the store holds payloads unchanged, and nothing is delivered.
 */
import type { PluginContext } from "portico";
import { maskedPayload, type PayloadSpec } from "portico/schedules";
import type { NewSchedule, Schedule } from "portico/store";
import type { DeliveryTarget, StoredTarget } from "./message.ts";
import type { DeliveriesService } from "./stored-target.ts";

type Context = Pick<PluginContext, "find">;

export function sealPayload(ctx: Context, payload: PayloadSpec): PayloadSpec {
  return withTarget(ctx, payload, (deliveries, target) => deliveries.seal(target));
}

/** Returns the payload with its secrets. Throws `delivery_secret_gone` or `delivery_key_unknown`. */
export function openPayload(ctx: Context, payload: PayloadSpec): PayloadSpec {
  return withTarget(ctx, payload, (deliveries, target) => deliveries.open(target));
}

/**
 * Returns the payload in the form in which an event fills in its placeholders. The target stays sealed if the placeholders
 * of its headers are stored with it, since another gateway with the same store may have the key. For targets of older
 * versions, it throws the same errors as `openPayload`.
 */
export function payloadForEvent(ctx: Context, payload: PayloadSpec): PayloadSpec {
  return withTarget(ctx, payload, (deliveries, target) =>
    "placeholders" in target ? target : deliveries.open(target),
  );
}

interface StoredEntry {
  row: Schedule;
  body: { payload: PayloadSpec };
}

interface StoredEntries<E extends StoredEntry> {
  change(id: string, next: (entry: E) => Omit<NewSchedule, "kind" | "id">): Promise<unknown>;
}

/**
 * Encrypts the secrets that an earlier version stored in plain text, when the plugin that owns the entries starts. An entry
 * that cannot be changed now stays as it is until the next start.
 */
export async function sealStoredPayloads<E extends StoredEntry>(
  ctx: Pick<PluginContext, "find" | "log">,
  all: readonly E[],
  entries: StoredEntries<E>,
): Promise<void> {
  for (const { row, body } of all) {
    if (!hasPlainSecrets(body.payload)) continue;
    try {
      await entries.change(row.id, (entry) => sealEntry(ctx, entry));
    } catch (error) {
      ctx.log.warn(
        { err: error, kind: row.kind, id: row.id },
        "The secrets in a delivery stored by an earlier Portico version could not be encrypted.",
      );
    }
  }
}

function hasPlainSecrets(payload: PayloadSpec): boolean {
  if (payload.kind !== "agentTurn" || typeof payload.delivery !== "object") return false;
  const { secret, headers = {} } = payload.delivery;
  return secret !== undefined || Object.keys(headers).length > 0;
}

function sealEntry(ctx: Context, { row, body }: StoredEntry): Omit<NewSchedule, "kind" | "id"> {
  const { enabled, nextAt } = row;
  return { enabled, nextAt, body: { ...body, payload: sealPayload(ctx, body.payload) } };
}

/** Returns the payload as routes show it, without secrets that cannot be read. */
export function viewPayload(ctx: Context, payload: PayloadSpec): PayloadSpec {
  try {
    return maskedPayload(withoutStoredSecrets(openPayload(ctx, payload)));
  } catch {
    return maskedPayload(withoutStoredSecrets(payload));
  }
}

function withTarget(
  ctx: Context,
  payload: PayloadSpec,
  change: (deliveries: DeliveriesService, target: DeliveryTarget) => DeliveryTarget,
): PayloadSpec {
  if (payload.kind !== "agentTurn" || typeof payload.delivery !== "object") return payload;
  const deliveries = ctx.find("deliveries");
  if (deliveries === undefined) return payload;
  return { ...payload, delivery: change(deliveries, payload.delivery) };
}

function withoutStoredSecrets(payload: PayloadSpec): PayloadSpec {
  if (payload.kind !== "agentTurn" || typeof payload.delivery !== "object") return payload;
  const { from, sealed, placeholders, ...readable } = payload.delivery as StoredTarget;
  return { ...payload, delivery: readable };
}

/** Returns the targets of the jobs or polls of a configuration, by their paths in it. */
export function targetsIn(
  section: string,
  entries: Readonly<Record<string, { payload?: unknown }>>,
): Record<string, DeliveryTarget> {
  const targets: Record<string, DeliveryTarget> = {};
  for (const [name, { payload }] of Object.entries(entries)) {
    const { delivery } = (payload ?? {}) as { delivery?: unknown };
    if (typeof delivery === "object" && delivery !== null)
      targets[`${section}.${name}.payload.delivery`] = delivery as DeliveryTarget;
  }
  return targets;
}
