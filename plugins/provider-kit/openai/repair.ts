/** Repairs deviations of servers of OpenAI's format in place. Each repair returns whether it changed something. */
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { readCount, repairCounts } from "../response/token-counts.ts";
import { readCountOrZero } from "../response/read-members.ts";

/** True for an id that may be passed on. OpenAI's begin like this; any other may have a meaning at its origin. */
export function isCompletionId(id: unknown): id is string {
  return typeof id === "string" && id.startsWith("chatcmpl-") && id.length > 9;
}

/** Adds missing counts, and corrects counts that cannot be true. */
export function repairUsage(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  const changes = [
    repairCounts(usage),
    addMissingCount(usage, "prompt_tokens", 0),
    addMissingCount(usage, "completion_tokens", 0),
  ];
  const sum = (usage["prompt_tokens"] as number) + (usage["completion_tokens"] as number);
  const isTooLow = readCountOrZero(usage["total_tokens"]) < sum;
  if (isTooLow) usage["total_tokens"] = sum;
  return isTooLow || addMissingCount(usage, "total_tokens", sum) || changes.includes(true);
}

/** False if the usage has no count of tokens, or one that cannot be true. Such usage counts as absent. */
export function hasCounts({ prompt_tokens, completion_tokens }: JsonMembers): boolean {
  const counts = [prompt_tokens, completion_tokens].filter((count) => count != null);
  return counts.length > 0 && counts.every((count) => readCount(count) !== undefined);
}

/** Sets a count if it is missing. */
function addMissingCount(usage: JsonMembers, name: string, count: number): boolean {
  if (typeof usage[name] === "number") return false;
  usage[name] = count;
  return true;
}

/** Removes items that are not objects from a list of objects, and a value that is not a list. */
export function dropOthers(holder: JsonMembers, name: string): boolean {
  const list = holder[name];
  if (list == null) return false;
  if (!Array.isArray(list)) return delete holder[name];
  if (list.every(isObject)) return false;
  holder[name] = list.filter(isObject);
  return true;
}

/**
 * Converts `content` that is a list of parts to text, and anything but a string to null; copies `reasoning` (OpenRouter,
 * Groq, vLLM) to `reasoning_content`.
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
 * Removes a text completion's `text` from a choice of a chat, where no reader and no guard of chats would see it. It
 * becomes the content of a message that has nothing else.
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

const FINISH_REASONS: Record<string, string> = {
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

/** Returns OpenAI's name of a finish reason; undefined if there is none. */
export function finishReasonOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return Object.hasOwn(FINISH_REASONS, value) ? FINISH_REASONS[value]! : value;
}
