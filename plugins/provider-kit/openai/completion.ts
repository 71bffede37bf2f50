/** Reads whole responses in OpenAI's form: detects errors of status 200, and repairs the usual deviations. */
import { completeArguments } from "../response/arguments.ts";
import type { PartDefaults } from "../parts/part-writer.ts";
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { mintCallId } from "../response/call-ids.ts";
import { readOpenAiProblem, type UpstreamError, upstreamError } from "../stream/upstream-error.ts";
import type { ChatCompletion, ChatMessage, Usage } from "../types/format.ts";
import { errorIn } from "./errors.ts";
import { readFunctionCall } from "./function-call.ts";
import {
  dropOthers,
  finishReasonOf,
  hasCounts,
  isCompletionId,
  repairOwnText,
  repairText,
  repairUsage,
} from "./repair.ts";

/**
 * Parses and repairs a response. `changed` is true if the bytes must not be passed on unchanged. Throws `UpstreamError` for
 * anything that is not a completion.
 */
export function readCompletion(
  body: Buffer,
  defaults: PartDefaults,
): { completion: ChatCompletion; changed: boolean } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    throw notACompletion(body);
  }
  const error = errorIn(parsed);
  if (error !== undefined) throw error;
  if (!isObject(parsed) || !Array.isArray(parsed["choices"]) || !parsed["choices"].some(isObject))
    throw notACompletion(body);
  const changed = repairCompletion(parsed, defaults);
  return { completion: parsed as unknown as ChatCompletion, changed };
}

function notACompletion(body: Buffer): UpstreamError {
  const problem = readOpenAiProblem(200, body);
  const message = `The upstream's response is not a chat completion. ${problem.message}`;
  return upstreamError({ kind: "upstream", message }, 200);
}

/** Sets a member if it is wrong or missing. Returns whether it was. */
function setMember(holder: JsonMembers, key: string, value: unknown): boolean {
  if (holder[key] === value && key in holder) return false;
  holder[key] = value;
  return true;
}

function repairCompletion(response: JsonMembers, defaults: PartDefaults): boolean {
  const { id, created, model } = response;
  const changes = [
    setMember(response, "id", isCompletionId(id) ? id : defaults.id),
    setMember(response, "object", "chat.completion"),
    setMember(
      response,
      "created",
      typeof created === "number" ? Math.floor(created) : defaults.created,
    ),
    setMember(
      response,
      "model",
      typeof model === "string" && model !== "" ? model : defaults.model,
    ),
    dropOthers(response, "choices"),
  ];
  for (const [i, choice] of (response["choices"] as JsonMembers[]).entries())
    changes.push(repairChoice(choice, i));
  const { usage } = response;
  const isUsage = isObject(usage) && hasCounts(usage);
  if (usage != null && !isUsage) changes.push(setMember(response, "usage", undefined));
  if (isUsage) changes.push(repairUsage(usage));
  return changes.includes(true);
}

function repairChoice(choice: JsonMembers, position: number): boolean {
  const { index, message: upstreamMessage, delta } = choice;
  const changes = [setMember(choice, "index", typeof index === "number" ? index : position)];
  if (!isObject(upstreamMessage))
    changes.push(setMember(choice, "message", isObject(delta) ? delta : { content: "" }));
  const message = choice["message"] as JsonMembers;
  changes.push(
    repairOwnText(choice, message),
    setMember(message, "role", "assistant"),
    message["content"] === undefined && setMember(message, "content", null),
    readFunctionCall(message),
    dropOthers(message, "tool_calls"),
  );
  const list = message["tool_calls"];
  const calls = Array.isArray(list) ? (list as JsonMembers[]) : [];
  const reason = finishReasonOf(choice["finish_reason"]) ?? "stop";
  const isCut = reason === "length" || reason === "content_filter";
  for (const call of calls) changes.push(repairCall(call, isCut));
  const finish = reason === "stop" && calls.length > 0 ? "tool_calls" : reason;
  changes.push(repairText(message), setMember(choice, "finish_reason", finish));
  return changes.includes(true);
}

function repairCall(call: JsonMembers, isCut: boolean): boolean {
  const { id, type, function: fn } = call;
  const changes = [
    setMember(call, "id", typeof id === "string" && id !== "" ? id : mintCallId()),
    setMember(call, "type", typeof type === "string" ? type : "function"),
  ];
  if (isObject(fn))
    changes.push(setMember(fn, "arguments", completeArguments(fn["arguments"], isCut)));
  return changes.includes(true);
}

/** Returns a completion with one text, for providers that respond with a string and for hooks that reply. */
export function textCompletion(
  { id, created, model }: PartDefaults,
  content: string,
  usage?: Usage,
): ChatCompletion {
  const message: ChatMessage = { role: "assistant", content };
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, finish_reason: "stop", logprobs: null }],
    usage,
  };
}

/** The usage of responses that report none, because many clients read it without checking. */
export const NO_TOKENS: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

let counter = 0;
const runId = Math.random().toString(36).slice(2, 10);

/** Returns `chatcmpl-` and an id that is unique, also across restarts. */
export function newCompletionId(): string {
  counter = (counter + 1) % Number.MAX_SAFE_INTEGER;
  return `chatcmpl-${runId}${Date.now().toString(36)}${counter.toString(36).padStart(5, "0")}`;
}
