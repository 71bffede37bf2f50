/** Converts a whole response in the Responses format to the form of chat, for reports, hooks and counting. */
import { errorInResponse } from "../response/errors-in-response.ts";
import { parseResponse } from "../response/parse-response.ts";
import { assistantMessage, completionFrom } from "../response/write-completion.ts";
import { readOpenAiProblem } from "../stream/upstream-error.ts";
import type { ChatCompletion, ToolCallPart } from "../types/format.ts";
import type { Target, WireRequest } from "../types/provider.ts";
import { membersOf, responseError, responseFinish, responseUsage } from "./response-object.ts";

type Members = Record<string, unknown>;

/** Converts a response. Throws `upstreamError` for a response that failed, and for a body that is not a response. */
export function decodeResponse(body: Buffer, _: WireRequest, target: Target): ChatCompletion {
  const response = parseResponse(body);
  if (response?.["error"] || response?.["status"] === "failed") throw responseError(response);
  if (!Array.isArray(response?.["output"])) throw errorInResponse(readOpenAiProblem(200, body));
  const items = response["output"].map(membersOf);
  const calls = items.flatMap(callOf);
  const finish = responseFinish(response);
  const message = assistantMessage({
    text: textsIn(items, "message", "content", "output_text"),
    reasoning: textsIn(items, "reasoning", "summary", "summary_text"),
    calls,
  });
  return completionFrom(target, {
    model: String(response["model"] ?? ""),
    choices: [{ message, finish: finish === "stop" && calls.length > 0 ? "tool_calls" : finish }],
    usage: responseUsage(response["usage"]),
  });
}

/** Converts the response of `responses/compact`, which has items but no text of a model. */
export function decodeCompaction(body: Buffer, _: WireRequest, target: Target): ChatCompletion {
  const response = parseResponse(body);
  if (!Array.isArray(response?.["output"])) throw errorInResponse(readOpenAiProblem(200, body));
  const message = assistantMessage({ text: "", calls: [] });
  return completionFrom(target, {
    choices: [{ message, finish: "stop" }],
    usage: responseUsage(response["usage"]),
  });
}

function textsIn(items: Members[], type: string, list: string, part: string): string {
  return items
    .filter((item) => item["type"] === type && Array.isArray(item[list]))
    .flatMap((item) => (item[list] as unknown[]).map(membersOf))
    .flatMap((member) => (member["type"] === part ? [String(member["text"] ?? "")] : []))
    .join("");
}

function callOf(item: Members): ToolCallPart[] {
  const { type, call_id: id, name, arguments: args, input } = item;
  if (type !== "function_call" && type !== "custom_tool_call") return [];
  const callArguments = type === "function_call" ? args : JSON.stringify({ input });
  const fn = { name: String(name ?? ""), arguments: String(callArguments ?? "") };
  return [{ id: String(id ?? ""), type: "function", function: fn }];
}
