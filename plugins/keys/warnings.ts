/** Warnings about a key for the owner: its budget does not limit every request. */
import type { PluginContext } from "portico";
import { mayUse } from "./models.ts";
import type { KeyConfig } from "./schema.ts";

/** So many models are named. */
const SHOWN = 3;

/** Models without a known price cost nothing here, so no budget counts them. */
export async function budgetWarnings(
  ctx: PluginContext,
  { budget, models }: Pick<KeyConfig, "budget" | "models">,
): Promise<string[]> {
  if (budget === undefined) return [];
  const usage = ctx.find("usage");
  if (usage === undefined)
    return ["the plugin `usage` is off, so its budget cannot be checked: every request is refused"];
  const channels = ctx.find("channels");
  const unpriced: string[] = [];
  let priced = 0;
  for (const id of await modelsOf(ctx, models)) {
    // Those that ask other models are counted there.
    const targets = ((await channels?.targets(id)) ?? []).filter(({ composite }) => !composite);
    const known = await Promise.all(targets.map((target) => usage.hasPrice(target)));
    if (known.includes(true)) priced++;
    if (known.includes(false)) unpriced.push(id);
  }
  if (unpriced.length === 0) return [];
  const named = unpriced.slice(0, SHOWN).join(", ");
  const more = unpriced.length > SHOWN ? ` and ${unpriced.length - SHOWN} more` : "";
  const what =
    priced === 0 ? "its budget has no effect" : "its budget does not count all of its models";
  return [
    `${what}: the price of ${named}${more} is not known. Set usage.prices, or keep them out of its models.`,
  ];
}

/** So long a limit is looked back on. */
const LOOK_BACK_MS = 86_400_000;

/** Limits whose counts are guesses, since upstreams did not tell their usage. */
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
  const some = estimated.reduce((sum, row) => sum + row.estimated, 0);
  const where = estimated.map(({ channel, model }) => `${channel}/${model}`);
  const more = where.length > SHOWN ? ` and ${where.length - SHOWN} more` : "";
  return [
    `its limits rely on estimates: ${some} of ${all} responses in 24 h came without plausible usage (${where.slice(0, SHOWN).join(", ")}${more})`,
  ];
}

/** Those that it may use, listed or named by it. */
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
