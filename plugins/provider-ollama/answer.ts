import {
  assistantMessage,
  type ChatCompletion,
  completionFrom,
  errorInResponse,
  mintCallId,
  parseObject,
  readOpenAiProblem,
  type Target,
  tokenUsage,
  type ToolCallPart,
  type Usage,
  type WireRequest,
} from "portico/chat";

/** A whole answer, or one line of a stream. */
export interface Answer {
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

/** A whole answer in OpenAI's form. Throws `upstreamError` for an error dressed as an answer. */
export function decodeAnswer(body: Buffer, _sent: WireRequest, target: Target): ChatCompletion {
  const answer = parseObject(body) as Answer | undefined;
  if (answer?.message === undefined) throw failureIn(body, 200);
  const { content = "", thinking, tool_calls: list = [] } = answer.message;
  const calls = list.map(readCall);
  const message = assistantMessage({ text: content, reasoning: thinking, calls });
  return completionFrom(target, {
    model: answer.model,
    choices: [{ message, finish: finishReason(answer.done_reason, calls.length > 0) }],
    usage: answer.eval_count === undefined ? undefined : readUsage(answer),
  });
}

/** The upstream gives calls no ids, and arguments as an object. */
export function readCall(call: { function?: { name?: string; arguments?: unknown } }): ToolCallPart {
  const args = call.function?.arguments ?? {};
  return {
    id: mintCallId(),
    type: "function",
    function: {
      name: call.function?.name ?? "",
      arguments: typeof args === "string" ? args || "{}" : JSON.stringify(args),
    },
  };
}

/** The upstream says `stop` after calls too. */
export function finishReason(reason: string | undefined, called: boolean): string {
  if (reason === "length") return "length";
  return called ? "tool_calls" : "stop";
}

export function readUsage(answer: Answer): Usage {
  return tokenUsage({ prompt: answer.prompt_eval_count ?? 0, completion: answer.eval_count ?? 0 });
}

/** The error for an answer (status 200) or a line of a stream (status 0) that is one. */
export function failureIn(body: Buffer, status: number): ReturnType<typeof errorInResponse> {
  return errorInResponse(readOpenAiProblem(status, body));
}
