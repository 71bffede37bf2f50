import {
  assistantMessage,
  type ChatCompletion,
  completionFrom,
  errorInResponse,
  mintCallId,
  parseResponse,
  readOpenAiProblem,
  type Target,
  tokenUsage,
  type ToolCallPart,
  type Usage,
  type WireRequest,
  completeArguments,
  readCountOrZero,
} from "portico/provider";

/** A whole response, or one line of a stream. */
export interface ChatResponse {
  model?: string;
  message?: {
    content?: string;
    thinking?: string;
    tool_calls?: { function?: { name?: string; arguments?: unknown } }[];
  };
  done?: boolean;
  done_reason?: string;
  prompt_eval_count?: number;
  eval_count?: number;
  error?: unknown;
}

/** Converts a whole response to OpenAI's form. Throws `upstreamError` for an error of status 200. */
export function decodeResponse(body: Buffer, _sent: WireRequest, target: Target): ChatCompletion {
  const response = parseResponse(body) as ChatResponse | undefined;
  if (typeof response?.message !== "object" || response.error) throw failureIn(body, 200);
  const { content = "", thinking, tool_calls: list = [] } = response.message;
  const calls = list.map(readCall);
  const message = assistantMessage({ text: content, reasoning: thinking, calls });
  return completionFrom(target, {
    model: response.model,
    choices: [{ message, finish: finishReason(response.done_reason, calls.length > 0) }],
    usage: response.eval_count === undefined ? undefined : readUsage(response),
  });
}

/** Converts a call. The upstream sends no ids, and arguments as an object. */
function readCall(call: { function?: { name?: string; arguments?: unknown } }): ToolCallPart {
  const { name = "", arguments: args } = call.function ?? {};
  return {
    id: mintCallId(),
    type: "function",
    function: { name, arguments: completeArguments(args) },
  };
}

/** Converts `done_reason`. The upstream sends `stop` also after calls. */
export function finishReason(reason: string | undefined, hasCalls: boolean): string {
  if (reason === "length") return "length";
  return hasCalls ? "tool_calls" : "stop";
}

export function readUsage(response: ChatResponse): Usage {
  return tokenUsage({
    prompt: readCountOrZero(response.prompt_eval_count),
    completion: readCountOrZero(response.eval_count),
  });
}

/** Returns the error in a response (status 200) or in a line of a stream (status 0). */
export function failureIn(body: Buffer, status: number): ReturnType<typeof errorInResponse> {
  return errorInResponse(readOpenAiProblem(status, body));
}
