/** Passes requests of clients that speak the Messages API. Nothing is translated, so nothing is lost. */
import {
  type NativeForm,
  type NativeRequest,
  type NativeText,
  originOf,
  postJson,
  type Target,
  UNCHANGED_NAMES,
  type WireRequest,
  withHeaders,
} from "portico/provider";
import { decodeNativeMessage } from "./response.ts";
import { headersFor, type Sent } from "./request.ts";
import { decodeNative } from "./stream.ts";

type Block = Record<string, unknown>;

export const nativeMessages: NativeForm = {
  encode,
  decode: decodeNativeMessage,
  parts: decodeNative,
  texts: textsOf,
};

function encode({ body, headers }: NativeRequest, target: Target): WireRequest {
  const origin = originOf({ model: target.model });
  const state: Sent = { includeUsage: false, origin, names: UNCHANGED_NAMES };
  const sent = {
    ...body,
    model: target.model,
    messages: (body.messages as Block[]).map(withoutForeign),
  };
  const allHeaders = withHeaders({ ...headersFor(target), ...headers }, target.headers);
  return postJson(`${target.baseUrl}/v1/messages`, allHeaders, sent, { state });
}

/** Removes reasoning of other providers, which has no signature that Anthropic accepts. */
function withoutForeign(message: Block): Block {
  const content = message.content;
  if (message.role !== "assistant" || !Array.isArray(content) || !content.some(isForeign))
    return message;
  return { ...message, content: content.filter((block: Block) => !isForeign(block)) };
}

function isForeign(block: Block): boolean {
  if (block.type === "thinking")
    return typeof block.signature !== "string" || block.signature === "";
  return (
    block.type === "redacted_thinking" &&
    typeof block.data === "string" &&
    block.data.startsWith("portico.")
  );
}

/** Returns the texts of a whole message. */
function textsOf(message: Block): NativeText[] {
  const { content } = message;
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: Block) => {
    if (block.type !== "text" || typeof block.text !== "string") return [];
    const set = (text: string) => {
      block.text = text;
      // The API refuses an empty text in later requests.
      if (text === "")
        message.content = (message.content as Block[]).filter((other) => other !== block);
    };
    return [{ name: "content" as const, text: block.text, set }];
  });
}
