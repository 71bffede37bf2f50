/** Targets as the store holds them: each secret is a reference to the configuration, or encrypted. */
import { isDeepStrictEqual } from "node:util";
import type { PluginContext, Principal } from "portico";
import { errors } from "./errors.ts";
import type { DeliveryTarget, StoredTarget } from "./message.ts";
import { headerPlaceholders } from "./templates.ts";
import type { Vault } from "./vault.ts";

/** The service `deliveries`. */
export interface DeliveriesService {
  /** Throws `invalid_request_error` or `address_blocked` for a target that is never delivered to for this principal. */
  check(target: DeliveryTarget | StoredTarget, param: string, principal: Principal): void;
  /** The form of a target that may be stored. One that has it already stays as it is. */
  seal(target: DeliveryTarget | StoredTarget): StoredTarget;
  /** The target with its secrets. Throws `delivery_secret_gone` or `delivery_key_unknown`. */
  open(target: StoredTarget): DeliveryTarget;
}

export type Sealing = Omit<DeliveriesService, "check">;

export function createSealing(ctx: Pick<PluginContext, "list">, vault: Vault): Sealing {
  /** Path of the configuration → the target at that path. */
  const configured = (): Record<string, DeliveryTarget> =>
    Object.assign({}, ...ctx.list("deliveryTargets").map((source) => source.list()));

  return {
    seal(target) {
      if (isStored(target)) return target;
      const { secret, headers, ...readable } = target;
      if (secret === undefined && Object.keys(headers ?? {}).length === 0) return readable;
      const open = { ...readable, placeholders: headerPlaceholders(headers) };
      const plainTarget = plain(target);
      const path = Object.entries(configured()).find(([, configuredTarget]) =>
        isDeepStrictEqual(plain(configuredTarget), plainTarget),
      )?.[0];
      if (path !== undefined) return { ...open, from: path };
      return { ...open, sealed: vault.encrypt(JSON.stringify({ secret, headers })) };
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
    const target = configured()[path];
    if (target !== undefined) return plain(target);
    throw errors.secretGone({ path });
  }
}

const isStored = (target: DeliveryTarget | StoredTarget): target is StoredTarget =>
  "from" in target || "sealed" in target;

const plain = ({ url, secret, headers }: DeliveryTarget): DeliveryTarget => ({
  url,
  ...(secret !== undefined && { secret }),
  ...(headers !== undefined && { headers }),
});
