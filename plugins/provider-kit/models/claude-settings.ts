/** OpenAI's settings as Claude takes them, by model, on every service that offers the model. */
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

/** Tokens, for models that require a number. */
const BUDGET: Record<Exclude<Effort, "none">, number> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
};
const LEAST = 1024;

/** The `reasoning_effort` whose budget a number of tokens is; what is larger than a medium one is high. */
export function effortOfBudget(tokens: number): "low" | "medium" | "high" {
  if (tokens <= BUDGET.low) return "low";
  return tokens <= BUDGET.medium ? "medium" : "high";
}

/**
 * `reasoning_effort` as `thinking` and an effort. A `thinking` object in the request is sent unchanged. What the model
 * cannot do is dropped by name. `maxTokens` bounds the budget; `forced`: a tool must be called; `brokenLoop`: the calls
 * being answered were made without (signed) thinking; `bare`: nothing is added that the request does not ask for, and
 * `added` names what was.
 */
export function claudeThinking(
  fields: Fields,
  model: ClaudeModel,
  maxTokens: number,
  request: { forced: boolean; brokenLoop: boolean; bare?: boolean | undefined },
): { thinking?: ClaudeThinking; effort?: string; added?: readonly string[] } {
  const own = fields.object("thinking");
  const effort = readEffort(fields);
  if (own !== undefined) return { thinking: own as unknown as ClaudeThinking };
  if (effort === undefined) return {};
  if (model.thinking === "adaptive") return adaptive(effort, fields, model, request.bare === true);
  if (effort === "none") return {};
  const budget = Math.min(BUDGET[effort], Math.max(LEAST, Math.floor(maxTokens * 0.8)));
  // Thinking with a budget excludes forced tools, and a loop of calls that began without it.
  if (model.thinking === "none" || request.forced || request.brokenLoop || maxTokens <= budget) {
    fields.drop("reasoning_effort");
    return {};
  }
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** The turns end with results of calls that were made without (signed) thinking: such a loop cannot go on with it. */
export function isBrokenLoop(turns: readonly Turn[], origin: string): boolean {
  const last = turns.at(-1);
  if (last?.role !== "user" || last.results.length === 0) return false;
  const before = turns.at(-2);
  return before?.role !== "assistant" || carriedThinking(before.extra, origin).length === 0;
}

function adaptive(
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
  const wanted = effort === "minimal" ? "low" : effort;
  // Clients see the thoughts that they asked a model to have.
  const isShown = model.displayOmitted && !bare;
  return {
    thinking: { type: "adaptive", display: isShown ? "summarized" : undefined },
    added: isShown ? ["thinking.display"] : undefined,
    effort: model.efforts.includes(wanted) ? wanted : "high",
  };
}

/** What is left of a request's sampling; absent fields are not sent. */
interface ClaudeSampling {
  temperature?: number;
  topP?: number;
  topK?: number;
}

/** `temperature` (up to 1), `top_p` and `top_k` as far as the model takes them; what is left out and no default is named. */
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

/** Of these fields 1 is what the model uses anyway: leaving it out changes nothing. */
const DEFAULT_OF_ONE = new Set(["temperature", "top_p"]);

/** The field's number if the model takes it; a number that is left out and matters is named. */
function takeNumber(
  fields: Fields,
  name: "temperature" | "top_p" | "top_k",
  isTaken: (value: number) => boolean,
): number | undefined {
  const value = fields.number(name);
  if (value === undefined || isTaken(value)) return value;
  if (value !== 1 || !DEFAULT_OF_ONE.has(name)) fields.drop(name);
  return undefined;
}

/** The stop sequences that Claude takes: not those of white space alone, which are dropped by name. */
export function claudeStops(fields: Fields): string[] {
  const stops = fields.stops();
  return stops.filter((stop, i) => {
    if (stop.trim() !== "") return true;
    fields.drop(stops.length === 1 ? "stop" : `stop[${i}]`);
    return false;
  });
}
