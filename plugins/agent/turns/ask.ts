/** Sends one request to a model, streamed if a listener exists. */
import type { ChatOptions, ChatService } from "portico/models";
import {
  type ChatMessage,
  type ChatRequest,
  PartCollector,
  type StreamPart,
  type Usage,
} from "portico/provider";
import { errors } from "../errors.ts";
import type { Listen } from "./progress.ts";
import { createPieceEditor } from "./pieces.ts";
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
  if (!choice) throw errors.noChoice();
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
  const collector = new PartCollector({ id: "", created: 0, model: request.model });
  /** The text from the model; `content` is the text that handlers made of it and listeners received. */
  let modelText = "";
  let content = "";
  const sendText = (text: string) => {
    content += text;
    if (text !== "") onDelta(text);
  };
  const pieceEditor = edit && createPieceEditor(edit, sendText);
  const streamRequest = { ...request, stream: true, stream_options: { include_usage: true } };
  try {
    for await (const parts of chat.parts(streamRequest, options)) {
      collector.add(parts);
      const text = textIn(parts);
      if (text === "") continue;
      modelText += text;
      if (pieceEditor) await pieceEditor.add(text);
      else sendText(text);
    }
  } finally {
    await pieceEditor?.flush();
  }
  // Handlers may have held text back until the end of the stream.
  if (modelText !== "" && edit !== undefined) sendText(await edit("", true));
  const { model, usage, choices } = collector.completion();
  const choice = choices[0];
  const message = toMessage(choice?.message, content, content !== modelText);
  return { message, finishReason: choice?.finish_reason ?? null, model, usage };
}

/** Returns the text of the first choice. */
function textIn(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === "text" && part.choice === 0 ? part.text : "")).join("");
}

const EMPTY_MESSAGE: ChatMessage = { role: "assistant" };

/** Returns a message with only those members that the next request to the model needs. */
function toMessage(
  modelMessage: ChatMessage | undefined,
  content: string,
  isChanged: boolean,
): ChatMessage {
  const {
    tool_calls: calls,
    reasoning_content: reasoning,
    extra_content: extra,
  } = modelMessage ?? EMPTY_MESSAGE;
  const hasCalls = calls != null && calls.length > 0;
  const message: ChatMessage = {
    role: "assistant",
    content: content === "" && hasCalls ? null : content,
  };
  if (hasCalls) message.tool_calls = calls;
  // If handlers changed the text, the reasoning may still contain what they removed.
  if (reasoning != null && (!isChanged || hasCalls)) message.reasoning_content = reasoning;
  if (extra != null && hasCalls) message["extra_content"] = extra;
  return message;
}

/** Returns the text of a message, whose content is a string or a list of parts. */
export function textOf(message: Pick<ChatMessage, "content">): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}
