/** What the owner should know of a key: where its budget holds nobody back. */
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
    priced === 0 ? "its budget cannot bite" : "its budget does not count all of its models";
  return [
    `${what}: the price of ${named}${more} is not known. Set usage.prices, or keep them out of its models.`,
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
