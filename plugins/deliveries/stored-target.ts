/** Targets as the store holds them: each secret is a reference to the configuration, or encrypted. */
import { isDeepStrictEqual } from "node:util";
import type { PluginContext, Principal } from "portico";
import { errors } from "./errors.ts";
import type { DeliveryTarget, StoredTarget } from "./message.ts";
import { findHeaderPlaceholders } from "./templates.ts";
import type { Vault } from "./vault.ts";

/** The service `deliveries`. */
export interface DeliveriesService {
  /** Throws `invalid_request_error` or `address_blocked` for a target that this principal can never deliver to. */
  check(target: DeliveryTarget | StoredTarget, param: string, principal: Principal): void;
  /** Returns the target in the form that may be stored. A target in that form stays unchanged. */
  seal(target: DeliveryTarget | StoredTarget): StoredTarget;
  /** Returns the target with its secrets. Throws `delivery_secret_gone` or `delivery_key_unknown`. */
  open(target: StoredTarget): DeliveryTarget;
}

export type Sealing = Omit<DeliveriesService, "check">;

export function createSealing(ctx: Pick<PluginContext, "list">, vault: Vault): Sealing {
  /** Returns the targets in the configuration by their paths. */
  const listConfiguredTargets = (): Record<string, DeliveryTarget> =>
    Object.assign({}, ...ctx.list("deliveryTargets").map((source) => source.list()));

  return {
    seal(target) {
      if (isStored(target)) return target;
      const { secret, headers, ...readable } = target;
      if (secret === undefined && Object.keys(headers ?? {}).length === 0) return readable;
      const unsealed = { ...readable, placeholders: findHeaderPlaceholders(headers) };
      const identity = pickIdentity(target);
      const path = Object.entries(listConfiguredTargets()).find(([, configuredTarget]) =>
        isDeepStrictEqual(pickIdentity(configuredTarget), identity),
      )?.[0];
      if (path !== undefined) return { ...unsealed, from: path };
      return { ...unsealed, sealed: vault.encrypt(JSON.stringify({ secret, headers })) };
    },
    open({ from, sealed, placeholders: _placeholders, ...target }) {
      if (from !== undefined) return { ...target, ...targetAt(from) };
      if (sealed === undefined) return target;
      try {
        return { ...target, ...JSON.parse(vault.decrypt(sealed)) };
      } catch (cause) {
        throw errors.keyUnknown({ cause });
      }
    },
  };

  function targetAt(path: string): DeliveryTarget {
    const target = listConfiguredTargets()[path];
    if (target !== undefined) return pickIdentity(target);
    throw errors.secretGone({ path });
  }
}

const isStored = (target: DeliveryTarget | StoredTarget): target is StoredTarget =>
  "from" in target || "sealed" in target;

/** The fields by which a target is recognised in the configuration. */
const pickIdentity = ({ url, secret, headers }: DeliveryTarget): DeliveryTarget => ({
  url,
  ...(secret !== undefined && { secret }),
  ...(headers !== undefined && { headers }),
});
