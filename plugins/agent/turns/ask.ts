/** One call of a model, streamed if a listener exists. */
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
  /** What the model said, and what listeners got of it. */
  let spoken = "";
  let content = "";
  const tell = (text: string) => {
    content += text;
    if (text !== "") onDelta(text);
  };
  const pieces = edit && inPieces(edit, tell);
  const streamed = { ...request, stream: true, stream_options: { include_usage: true } };
  try {
    for await (const parts of chat.parts(streamed, options)) {
      collector.add(parts);
      const text = textIn(parts);
      if (text === "") continue;
      spoken += text;
      if (pieces) await pieces.say(text);
      else tell(text);
    }
  } finally {
    await pieces?.caughtUp();
  }
  // what handlers hold back
  if (spoken !== "" && edit !== undefined) tell(await edit("", true));
  const { model, usage, choices } = collector.completion();
  const choice = choices[0];
  const message = messageOf(choice?.message, content, content !== spoken);
  return { message, finishReason: choice?.finish_reason ?? null, model, usage };
}

/** What the first choice says to its reader. */
function textIn(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === "text" && part.choice === 0 ? part.text : "")).join("");
}

const NOTHING_SAID: ChatMessage = { role: "assistant" };

/** The members that the next call of the model needs. */
function messageOf(
  said: ChatMessage | undefined,
  content: string,
  isChanged: boolean,
): ChatMessage {
  const {
    tool_calls: calls,
    reasoning_content: reasoning,
    extra_content: extra,
  } = said ?? NOTHING_SAID;
  const hasCalls = calls != null && calls.length > 0;
  const message: ChatMessage = {
    role: "assistant",
    content: content === "" && hasCalls ? null : content,
  };
  if (hasCalls) message.tool_calls = calls;
  // The thoughts behind an answer that was changed say what that was not to say.
  if (reasoning != null && (!isChanged || hasCalls)) message.reasoning_content = reasoning;
  if (extra != null && hasCalls) message["extra_content"] = extra;
  return message;
}

/** The text of a message, whatever form its content has. */
export function textOf(message: Pick<ChatMessage, "content">): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}
