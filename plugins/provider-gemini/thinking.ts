import { type Effort, type Fields, type GeminiModel, readEffort } from "portico/provider";

/** The number of tokens of each effort for Gemini 2.5, as in Google's own OpenAI endpoint. */
const BUDGET: Record<Effort, number> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
/** The minimum thinking budget of 2.5 Pro. */
const PRO_MIN_BUDGET = 128;

/** The path of a member that the gateway adds, because a client that asks for reasoning also expects to see it. */
export const INCLUDE_THOUGHTS = "generationConfig.thinkingConfig.includeThoughts";

/**
 * Converts `reasoning_effort` to `thinkingConfig`. A `thinking_config` in the request is sent unchanged. With `bare`, nothing
 * is added.
 */
export function encodeThinking(
  fields: Fields,
  model: GeminiModel,
  bare = false,
): Record<string, unknown> | undefined {
  const requestedConfig = fields.object("thinking_config");
  const effort = readEffort(fields);
  if (requestedConfig !== undefined) return requestedConfig;
  if (effort === undefined) return undefined;
  const isOff = effort === "none";
  if (model.thinking === "none") {
    if (!isOff) fields.drop("reasoning_effort");
    return undefined;
  }
  const cannotStop = isOff && (model.pro || model.thinking === "level");
  if (cannotStop) fields.drop("reasoning_effort");
  const visibility = isOff || bare ? {} : { includeThoughts: true };
  if (model.thinking === "level")
    return { ...visibility, thinkingLevel: nearestLevel(effort, model.levels) };
  return { ...visibility, thinkingBudget: cannotStop ? PRO_MIN_BUDGET : BUDGET[effort] };
}

/** Returns the level of the effort, or the nearest stronger one that the model has. */
function nearestLevel(effort: Effort, levels: readonly string[]): string {
  const order = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
  const firstIndex = { none: 0, minimal: 0, low: 1, medium: 2, high: 3, xhigh: 3, max: 3 }[effort];
  return order.slice(firstIndex).find((level) => levels.includes(level)) ?? "HIGH";
}
