/** Warnings for the owner about limits of a key that do not cover every request exactly. */
import type { PluginContext } from "portico";
import { mayUse } from "./models.ts";
import type { KeyConfig } from "./schema.ts";

/** The number of models that a warning names. */
const MAX_NAMED = 3;

/** Warns of models without a known price, which no budget counts. */
export async function budgetWarnings(
  ctx: PluginContext,
  { budget, models }: Pick<KeyConfig, "budget" | "models">,
): Promise<string[]> {
  if (budget === undefined) return [];
  const usage = ctx.find("usage");
  if (usage === undefined)
    return [
      "the plugin `usage` is off, so the key's budget cannot be checked and every request is refused",
    ];
  const channels = ctx.find("channels");
  const unpriced: string[] = [];
  let priced = 0;
  for (const id of await modelsOf(ctx, models)) {
    // The cost of composite targets is counted at the models that they ask.
    const targets = ((await channels?.targets(id)) ?? []).filter(({ composite }) => !composite);
    const prices = await Promise.all(targets.map((target) => usage.hasPrice(target)));
    if (prices.includes(true)) priced++;
    if (prices.includes(false)) unpriced.push(id);
  }
  if (unpriced.length === 0) return [];
  const names = unpriced.slice(0, MAX_NAMED).join(", ");
  const more = unpriced.length > MAX_NAMED ? ` and ${unpriced.length - MAX_NAMED} more` : "";
  const what =
    priced === 0
      ? "the key's budget has no effect"
      : "the key's budget does not count all of its models";
  return [
    `${what}, because the price of ${names}${more} is not known. Add prices in usage.prices, or remove these models from the key's list of models.`,
  ];
}

/** The period that the warning about estimates covers. */
const LOOK_BACK_MS = 86_400_000;

/** Warns of limits that rely on estimates, since upstreams did not report their usage. */
export async function estimateWarnings(
  ctx: PluginContext,
  name: string,
  { budget, tokensPerMinute }: Pick<KeyConfig, "budget" | "tokensPerMinute">,
): Promise<string[]> {
  if (budget === undefined && tokensPerMinute === undefined) return [];
  const store = ctx.use("store");
  await ctx.find("usage")?.flush();
  const rows = await store.usage.sum({
    key: name,
    since: store.now() - LOOK_BACK_MS,
    by: ["channel", "model"],
  });
  const estimated = rows.filter((row) => row.estimated > 0);
  if (estimated.length === 0) return [];
  const all = rows.reduce((sum, { requests }) => sum + requests, 0);
  const count = estimated.reduce((sum, row) => sum + row.estimated, 0);
  const names = estimated.map(({ channel, model }) => `${channel}/${model}`);
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return [
    `the key's limits rely on estimates, because ${count} of ${all} responses of the last 24 h had no plausible token counts (${names.slice(0, MAX_NAMED).join(", ")}${more})`,
  ];
}

/** Returns the listed models that the key may use, and those that its patterns name. */
async function modelsOf(
  ctx: PluginContext,
  patterns: readonly string[] | undefined,
): Promise<Set<string>> {
  const listed = (await ctx.find("chat")?.models()) ?? [];
  const channels = (ctx.find("channels")?.list() ?? []).map(({ name }) => name);
  const allowed = listed.flatMap(({ id }) => {
    const channel = channels.find((name) => id.startsWith(`${name}/`));
    return mayUse(patterns, { model: id, channel, acting: [] }) ? [id] : [];
  });
  return new Set([...allowed, ...(patterns ?? []).filter((pattern) => !pattern.includes("*"))]);
}
