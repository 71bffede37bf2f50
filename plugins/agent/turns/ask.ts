/** One call of a model, streamed where somebody listens. */
import { PorticoError } from "portico";
import type {
  ChatMessage,
  ChatOptions,
  ChatRequest,
  ChatService,
  ToolCallPart,
  Usage,
} from "portico/chat";
import type { Listen } from "../queue/progress.ts";
import { inPieces } from "./pieces.ts";
import type { Edit } from "./sending.ts";

export interface ModelResponse {
  message: ChatMessage;
  finishReason: string | null;
  model: string;
  usage: Usage | undefined;
}

/** Throws `upstream_error` for a response without a choice. */
export async function ask(
  chat: ChatService,
  request: ChatRequest,
  options: ChatOptions,
  onDelta: Listen | undefined,
  edit?: Edit,
): Promise<ModelResponse> {
  if (onDelta) return askStreaming(chat, request, options, onDelta, edit);
  const response = await chat.complete(request, options);
  const choice = response.choices[0];
  if (!choice) throw new PorticoError("upstream_error", "The model answered without a choice.");
  return {
    message: choice.message,
    finishReason: choice.finish_reason,
    model: response.model,
    usage: response.usage,
  };
}

async function askStreaming(
  chat: ChatService,
  request: ChatRequest,
  options: ChatOptions,
  onDelta: Listen,
  edit: Edit | undefined,
): Promise<ModelResponse> {
  let content = "";
  let reasoning = "";
  let finishReason: string | null = null;
  let model = request.model;
  let usage: Usage | undefined;
  const calls: ToolCallPart[] = [];
  let spoken = "";
  const tell = (text: string) => {
    content += text;
    if (text !== "") onDelta(text);
  };
  const pieces = edit && inPieces(edit, tell);
  const streamed = { ...request, stream: true, stream_options: { include_usage: true } };
  try {
    for await (const chunk of chat.stream(streamed, options)) {
      model = chunk.model || model;
      usage = chunk.usage ?? usage;
      const choice = chunk.choices[0];
      if (!choice) continue;
      finishReason = choice.finish_reason ?? finishReason;
      const { delta } = choice;
      if (typeof delta.content === "string" && delta.content !== "") {
        spoken += delta.content;
        if (pieces) await pieces.say(delta.content);
        else tell(delta.content);
      }
      if (typeof delta.reasoning_content === "string") reasoning += delta.reasoning_content;
      for (const part of delta.tool_calls ?? []) mergeCall(calls, part);
    }
  } finally {
    await pieces?.caughtUp();
  }
  // what handlers hold back
  if (spoken !== "" && edit !== undefined) tell(await edit("", true));
  const message: ChatMessage = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
  };
  if (calls.length > 0) message.tool_calls = calls.map(({ index: _index, ...call }) => call);
  // the thoughts behind an answer that was changed say what that was not to say
  if (reasoning !== "" && (content === spoken || calls.length > 0))
    message.reasoning_content = reasoning;
  return { message, finishReason, model, usage };
}

function mergeCall(calls: ToolCallPart[], part: ToolCallPart): void {
  const known =
    part.index === undefined ? undefined : calls.find((call) => call.index === part.index);
  if (!known) {
    calls.push({
      type: "function",
      ...part,
      function: { name: "", arguments: "", ...part.function },
    });
    return;
  }
  if (part.id) known.id = part.id;
  known.function = {
    name: (known.function?.name ?? "") + (part.function?.name ?? ""),
    arguments: (known.function?.arguments ?? "") + (part.function?.arguments ?? ""),
  };
}

/** The text of a message, whatever form its content has. */
export function textOf(message: Pick<ChatMessage, "content">): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}
