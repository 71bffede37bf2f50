/** Converts OpenAI's settings to those that a Claude model accepts, on every service that offers the model. */
import type { ClaudeModel } from "./capabilities.ts";
import type { Fields } from "../request/fields.ts";
import type { Turn } from "../types/conversation.ts";
import { type Effort, readEffort } from "../request/tools.ts";
import { carriedThinking } from "../response/carry.ts";

/** Anthropic's `thinking`; `budget_tokens` only with `enabled`. */
interface ClaudeThinking {
  type: "enabled" | "disabled" | "adaptive" | "between_tools";
  budget_tokens?: number;
  display?: "summarized";
}

/** The number of tokens of each effort, for models that require a number. */
const BUDGET: Record<Exclude<Effort, "none">, number> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
};
const MIN_BUDGET = 1024;

/** Returns the lowest `reasoning_effort` whose budget contains a number of tokens; `high` above the medium budget. */
export function effortOfBudget(tokens: number): "low" | "medium" | "high" {
  if (tokens <= BUDGET.low) return "low";
  return tokens <= BUDGET.medium ? "medium" : "high";
}

/**
 * Converts `reasoning_effort` to `thinking` and an effort. A `thinking` object in the request is sent unchanged. Settings
 * that the model does not support are dropped by name. `maxTokens` limits the budget; `forced`: a tool must be called;
 * `brokenLoop`: the calls whose results are sent were made without (signed) thinking; `bare`: nothing is added that the
 * request does not ask for. `added` lists the paths of additions.
 */
export function claudeThinking(
  fields: Fields,
  model: ClaudeModel,
  maxTokens: number,
  request: { forced: boolean; brokenLoop: boolean; bare?: boolean | undefined },
): { thinking?: ClaudeThinking; effort?: string; added?: readonly string[] } {
  const requestedThinking = fields.object("thinking");
  const effort = readEffort(fields);
  if (requestedThinking !== undefined)
    return { thinking: requestedThinking as unknown as ClaudeThinking };
  if (effort === undefined) return {};
  if (model.thinking === "adaptive")
    return adaptiveThinking(effort, fields, model, request.bare === true);
  if (effort === "none") return {};
  const budget = Math.min(BUDGET[effort], Math.max(MIN_BUDGET, Math.floor(maxTokens * 0.8)));
  // Thinking with a budget excludes forced tools, and a loop of calls that began without it.
  if (model.thinking === "none" || request.forced || request.brokenLoop || maxTokens <= budget) {
    fields.drop("reasoning_effort");
    return {};
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** True if the turns end with results of calls that were made without (signed) thinking. Such a loop cannot use thinking. */
export function isBrokenLoop(turns: readonly Turn[], origin: string): boolean {
  const last = turns.at(-1);
  if (last?.role !== "user" || last.results.length === 0) return false;
  const caller = turns.at(-2);
  return caller?.role !== "assistant" || carriedThinking(caller.extra, origin).length === 0;
}

function adaptiveThinking(
  effort: Effort,
  fields: Fields,
  model: ClaudeModel,
  bare: boolean,
): { thinking?: ClaudeThinking; effort?: string; added?: readonly string[] } {
  if (effort === "none") {
    if (model.off !== undefined) return { thinking: { type: model.off } };
    fields.drop("reasoning_effort");
    return { effort: "low" };
  }
  const claudeEffort = effort === "minimal" ? "low" : effort;
  // A client that asks for reasoning also expects to see it.
  const isShown = model.displayOmitted && !bare;
  return {
    thinking: { type: "adaptive", display: isShown ? "summarized" : undefined },
    added: isShown ? ["thinking.display"] : undefined,
    effort: model.efforts.includes(claudeEffort) ? claudeEffort : "high",
  };
}

/** The sampling settings that are sent. */
interface ClaudeSampling {
  temperature?: number;
  topP?: number;
  topK?: number;
}

/** Returns the sampling settings that the model accepts. Drops others by name, unless they have the default value. */
export function claudeSampling(
  fields: Fields,
  model: ClaudeModel,
  thinking: ClaudeThinking | undefined,
): ClaudeSampling {
  const isThinking = thinking !== undefined && thinking.type !== "disabled";
  const isFree = model.sampling !== "fixed" && !isThinking;
  const temperature = takeNumber(fields, "temperature", (value) => isFree && value <= 1);
  const isTopPFree = isFree && !(model.sampling === "one" && temperature !== undefined);
  const topP = takeNumber(fields, "top_p", () => isTopPFree);
  const topK = takeNumber(fields, "top_k", () => isFree);
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
  };
}

/** The fields whose default is 1, so that omitting a 1 changes nothing. */
const DEFAULT_OF_ONE = new Set(["temperature", "top_p"]);

/** Returns the field's number if the model accepts it. Otherwise drops the field by name, unless it is the default. */
function takeNumber(
  fields: Fields,
  name: "temperature" | "top_p" | "top_k",
  isAccepted: (value: number) => boolean,
): number | undefined {
  const value = fields.number(name);
  if (value === undefined || isAccepted(value)) return value;
  if (value !== 1 || !DEFAULT_OF_ONE.has(name)) fields.drop(name);
  return undefined;
}

/** Returns the stop sequences that Claude accepts. Those that are only white space are dropped by name. */
export function claudeStops(fields: Fields): string[] {
  const stops = fields.stops();
  return stops.filter((stop, i) => {
    if (stop.trim() !== "") return true;
    fields.drop(stops.length === 1 ? "stop" : `stop[${i}]`);
    return false;
  });
}
