/** `/keys`: makes, lists and revokes. */
import { type Call, compile, type PluginContext, PorticoError, reply } from "portico";
import { periodOf } from "portico/chat";
import { hashOf, newKey, type State, stateOf } from "./grant.ts";
import type { Holders } from "./holders.ts";
import type { StoredKeys } from "./stored.ts";
import { budgetWarnings } from "./warnings.ts";
import { createRequest, type KeyConfig, type KeysConfig } from "./schema.ts";

const create = compile(createRequest);

/** Names of keys that are being made, in the store; what a crash leaves there is forgotten after a while. */
const MAKING = "keys.making";
const MAKING_MS = 30_000;

/** A key as lists show it: without its hash. */
export interface KeyView extends Omit<KeyConfig, "hash"> {
  name: string;
  state: State;
  /** Of the budget's current day or month; null where it cannot be told. */
  spentUsd?: number | null;
  /** Where its budget holds nobody back, or it opens nothing from the start. */
  warnings?: string[];
}

export function mountKeys(
  ctx: PluginContext,
  keys: () => KeysConfig,
  stored: StoredKeys,
  holders: Holders,
): void {
  const now = () => ctx.use("store").now();
  const configure = (name: string, key: object | undefined) =>
    ctx.setConfig(["gateway", "keys", name], key);

  async function view(name: string, { hash: _, ...rest }: KeyConfig): Promise<KeyView> {
    const shown: KeyView = { name, state: stateOf(rest, now()), ...rest };
    if (rest.budget === undefined) return shown;
    const since = periodOf(rest.budget.per, now()).start;
    const spent = ctx.find("usage")?.spent(name, since) ?? Promise.resolve(null);
    const warnings = await budgetWarnings(ctx, rest);
    const spentUsd = await spent.catch(() => null);
    return { ...shown, spentUsd, warnings: warnings.length > 0 ? warnings : undefined };
  }

  /** Of several who make a key of one name at once, on whichever gateway or worker, one gets it. */
  async function make(call: Call) {
    const { name, ...limits } = await call.json(create);
    if (limits.expires !== undefined && Number.isNaN(Date.parse(limits.expires)))
      throw new PorticoError("invalid_request_error", "`expires` is not a date.", {
        param: "expires",
      });
    const { kv } = ctx.use("store");
    if (!(await kv.add(MAKING, name, true, { ttlMs: MAKING_MS }))) throw taken(name);
    try {
      return await makeAlone(name, limits);
    } finally {
      await kv.delete(MAKING, name).catch(() => {}); // it goes by itself
    }
  }

  async function makeAlone(name: string, limits: Omit<KeyConfig, "hash" | "enabled">) {
    await stored.refresh();
    if (Object.hasOwn(keys(), name)) throw taken(name);
    await holders.forget(name);
    const key = newKey();
    const hash = hashOf(key);
    if (stored.isShared) await stored.put(name, { hash, enabled: true, ...limits });
    else await configure(name, { hash, ...limits });
    const made = keys()[name];
    if (made === undefined)
      throw new PorticoError("internal_error", "The key was written, but is not in force.");
    const shown = await view(name, made);
    if (shown.state !== "expired") return reply(201, { ...shown, key });
    const over = `it has expired already (${limits.expires}), and opens nothing`;
    return reply(201, { ...shown, warnings: [over, ...(shown.warnings ?? [])], key });
  }

  async function revoke({ params }: Call) {
    const name = params["name"] ?? "";
    await stored.refresh();
    if (!Object.hasOwn(keys(), name))
      throw new PorticoError(
        "not_found",
        `There is no key \`${name}\`: see \`portico keys list\`.`,
      );
    await stored.remove(name);
    if (Object.hasOwn(keys(), name)) await configure(name, undefined);
    return { name, revoked: true };
  }

  const options = (summary: string) => ({ access: "gateway" as const, summary });
  ctx.route("GET", "/keys", options("Client keys"), async () => {
    await stored.refresh().catch(() => {}); // without the store: those that are known
    return {
      keys: await Promise.all(Object.entries(keys()).map(([name, key]) => view(name, key))),
    };
  });
  ctx.route("POST", "/keys", options("Makes a client key"), make);
  ctx.route("DELETE", "/keys/:name", options("Revokes a client key"), revoke);
}

function taken(name: string): PorticoError {
  return new PorticoError(
    "conflict",
    `There is a key \`${name}\` already. Revoke it first, or take another name.`,
  );
}
