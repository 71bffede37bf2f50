import { type Effort, type Fields, type GeminiModel, readEffort } from "portico/provider";

/** Tokens for Gemini 2.5, as Google's own OpenAI endpoint gives them. */
const BUDGET: Record<Effort, number> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
/** The least that 2.5 Pro thinks. */
const PRO_LEAST = 128;

/** The path of what the gateway adds, so that clients see the thoughts that they asked a model to have. */
export const INCLUDE_THOUGHTS = "generationConfig.thinkingConfig.includeThoughts";

/**
 * `reasoning_effort` as `thinkingConfig`. A `thinking_config` in the request is sent unchanged. `bare`: nothing is added.
 */
export function encodeThinking(
  fields: Fields,
  model: GeminiModel,
  bare = false,
): Record<string, unknown> | undefined {
  const own = fields.object("thinking_config");
  const effort = readEffort(fields);
  if (own !== undefined) return own;
  if (effort === undefined) return undefined;
  const off = effort === "none";
  if (model.thinking === "none") {
    if (!off) fields.drop("reasoning_effort");
    return undefined;
  }
  const cannotStop = off && (model.pro || model.thinking === "level");
  if (cannotStop) fields.drop("reasoning_effort");
  const thoughts = off || bare ? {} : { includeThoughts: true };
  if (model.thinking === "level")
    return { ...thoughts, thinkingLevel: level(effort, model.levels) };
  return { ...thoughts, thinkingBudget: cannotStop ? PRO_LEAST : BUDGET[effort] };
}

/** The named level, or the nearest stronger one that the model has. */
function level(effort: Effort, levels: readonly string[]): string {
  const order = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
  const wanted = { none: 0, minimal: 0, low: 1, medium: 2, high: 3, xhigh: 3, max: 3 }[effort];
  return order.slice(wanted).find((one) => levels.includes(one)) ?? "HIGH";
}
