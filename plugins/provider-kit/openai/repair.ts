/** Deviations of servers of OpenAI's format, repaired in place. Each function returns whether it changed something. */
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { readCount, repairCounts } from "../response/token-counts.ts";
import { readCountOrZero } from "../response/read-members.ts";

/** True for an id that may be passed on: OpenAI's begin so, and others may mean something where they come from. */
export function isCompletionId(id: unknown): id is string {
  return typeof id === "string" && id.startsWith("chatcmpl-") && id.length > 9;
}

/** Some upstreams leave `total_tokens` or another count out, or write counts that cannot be true. */
export function repairUsage(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  const changes = [
    repairCounts(usage),
    putCount(usage, "prompt_tokens", 0),
    putCount(usage, "completion_tokens", 0),
  ];
  const sum = (usage["prompt_tokens"] as number) + (usage["completion_tokens"] as number);
  const isTooLow = readCountOrZero(usage["total_tokens"]) < sum;
  if (isTooLow) usage["total_tokens"] = sum;
  return isTooLow || putCount(usage, "total_tokens", sum) || changes.includes(true);
}

/** False for usage that counts as absent: it has no count of tokens, or one that cannot be true. */
export function hasCounts({ prompt_tokens, completion_tokens }: JsonMembers): boolean {
  const counts = [prompt_tokens, completion_tokens].filter((count) => count != null);
  return counts.length > 0 && counts.every((count) => readCount(count) !== undefined);
}

/** Sets a count that is missing. */
function putCount(usage: JsonMembers, name: string, count: number): boolean {
  if (typeof usage[name] === "number") return false;
  usage[name] = count;
  return true;
}

/** Removes items that are no objects from a list of objects, and a value that is no list. */
export function dropOthers(holder: JsonMembers, name: string): boolean {
  const list = holder[name];
  if (list == null) return false;
  if (!Array.isArray(list)) return delete holder[name];
  if (list.every(isObject)) return false;
  holder[name] = list.filter(isObject);
  return true;
}

/**
 * `content` as a list of parts becomes text, and anything else null; `reasoning` (OpenRouter, Groq, vLLM) is copied to
 * as `reasoning_content`.
 */
export function repairText(message: JsonMembers): boolean {
  let changed = repairContent(message);
  if (typeof message["reasoning"] === "string" && message["reasoning_content"] == null) {
    message["reasoning_content"] = message["reasoning"];
    changed = true;
  }
  return changed;
}

function repairContent(message: JsonMembers): boolean {
  const content = message["content"];
  if (content == null || typeof content === "string") return false;
  if (!Array.isArray(content)) {
    message["content"] = null;
    return true;
  }
  const thinking = content.flatMap((part) =>
    isObject(part) && Array.isArray(part["thinking"]) ? part["thinking"] : [],
  );
  if (thinking.length > 0 && message["reasoning_content"] == null)
    message["reasoning_content"] = thinking.map(textOfPart).join("");
  message["content"] = content.map(textOfPart).join("");
  return true;
}

function textOfPart(part: unknown): string {
  return isObject(part) && typeof part["text"] === "string" ? part["text"] : "";
}

/**
 * A text completion's `text` in a chat's choice: becomes the message's where that is empty, else it is removed, for no reader of chats
 * and no guard over them would see it.
 */
export function repairOwnText(choice: JsonMembers, message: JsonMembers): boolean {
  const text = choice["text"];
  if (text === undefined) return false;
  delete choice["text"];
  const { content, tool_calls: calls, refusal } = message;
  if (typeof text === "string" && text !== "" && !content && calls == null && refusal == null)
    message["content"] = text;
  return true;
}

const REASONS: Record<string, string> = {
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  STOP: "stop",
  max_tokens: "length",
  MAX_TOKENS: "length",
  model_length: "length",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  safety: "content_filter",
  SAFETY: "content_filter",
};

/** OpenAI's word for a finish reason, undefined where there is none. */
export function finishReasonOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return Object.hasOwn(REASONS, value) ? REASONS[value]! : value;
}
