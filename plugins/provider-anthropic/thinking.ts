import type { ClaudeModel, Effort, Fields } from "portico";
import { readEffort } from "portico";

export interface Thinking {
  type: "enabled" | "disabled" | "adaptive" | "between_tools";
  budget_tokens?: number;
  display?: "summarized";
}

/** Tokens for models that want a number. */
const BUDGET: Record<Exclude<Effort, "none">, number> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
};
const LEAST = 1024;

/**
 * `reasoning_effort` as Claude's `thinking` and effort. A `thinking` object in the request goes out as it is. What the
 * model cannot do is dropped by name.
 */
export function encodeThinking(
  fields: Fields,
  model: ClaudeModel,
  maxTokens: number,
  request: { forced: boolean; brokenLoop: boolean },
): { thinking?: Thinking; effort?: string } {
  const own = fields.object("thinking");
  const effort = readEffort(fields);
  if (own !== undefined) return { thinking: own as unknown as Thinking };
  if (effort === undefined) return {};
  if (model.thinking === "adaptive") return adaptive(effort, fields, model);
  if (effort === "none") return {};
  const budget = Math.min(BUDGET[effort], Math.max(LEAST, Math.floor(maxTokens * 0.8)));
  // Thinking with a budget excludes forced tools.
  if (model.thinking === "none" || request.forced || request.brokenLoop || maxTokens <= budget) {
    fields.drop("reasoning_effort");
    return {};
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

function adaptive(effort: Effort, fields: Fields, model: ClaudeModel): { thinking?: Thinking; effort?: string } {
  if (effort === "none") {
    if (model.off !== undefined) return { thinking: { type: model.off } };
    fields.drop("reasoning_effort");
    return { effort: "low" };
  }
  const wanted = effort === "minimal" ? "low" : effort;
  return {
    thinking: { type: "adaptive", ...(model.displayOmitted && { display: "summarized" as const }) },
    effort: model.efforts.includes(wanted) ? wanted : "high",
  };
}
