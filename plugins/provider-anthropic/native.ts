/** For callers who speak the Messages API themselves: nothing is translated, so nothing is lost. */
import type { PorticoError } from "portico";
import {
  createDecoder,
  createSseParser,
  cutShort,
  errorInResponse,
  type NativeForm,
  type NativeRequest,
  notJson,
  originOf,
  parseResponse,
  postJson,
  type StreamDecoder,
  type Target,
  UNCHANGED_NAMES,
  type WireRequest,
  withHeaders,
} from "portico/chat";
import { decodeMessage, finishReason, type MessageUsage, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import { headersFor, type Sent } from "./request.ts";
import { present } from "./stream.ts";

type Block = Record<string, unknown>;

export const nativeMessages: NativeForm = { encode, decode: decodeMessage, decoder };

function encode({ body, headers }: NativeRequest, target: Target): WireRequest {
  const origin = originOf({ model: target.model });
  const state: Sent = { includeUsage: false, origin, names: UNCHANGED_NAMES };
  const sent = { ...body, model: target.model, messages: (body.messages as Block[]).map(withoutForeign) };
  const ours = withHeaders({ ...headersFor(target), ...headers }, target.headers);
  return postJson(`${target.baseUrl}/v1/messages`, ours, sent, { state });
}

/** Reasoning that another provider answered has no signature that Anthropic would take. */
function withoutForeign(message: Block): Block {
  const content = message.content;
  if (message.role !== "assistant" || !Array.isArray(content) || !content.some(isForeign)) return message;
  return { ...message, content: content.filter((block: Block) => !isForeign(block)) };
}

function isForeign(block: Block): boolean {
  if (block.type === "thinking") return typeof block.signature !== "string" || block.signature === "";
  return block.type === "redacted_thinking" && typeof block.data === "string" && block.data.startsWith("portico.");
}

interface Event {
  type?: string;
  message?: { usage?: MessageUsage };
  content_block?: { type?: string; text?: string };
  delta?: { text?: string; stop_reason?: string | null };
  usage?: MessageUsage;
  error?: unknown;
}

/** Events go out as they came; an error event, or one that a proxy has put among them, becomes the failure. */
function decoder(): StreamDecoder {
  let out: string[] = [];
  let usage: MessageUsage | undefined;
  let text = "";
  let called = false;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;

  const parser = createSseParser((data, name) => {
    if (done || failure !== undefined) return;
    const event = parseResponse(data) as Event | undefined;
    const type = event?.error ? "error" : (event?.type ?? name);
    if (event === undefined) {
      if (finish === undefined) failure = notJson();
      return;
    }
    if (type === "error") {
      failure = errorInResponse(readProblem(0, data));
      return;
    }
    // JSON may stand over several lines of data; between its tokens a line end is but a space.
    out.push(`event: ${type}\ndata: ${data.toString("utf8").replace(/[\r\n]/g, " ")}\n\n`);
    if (type === "message_start") usage = event.message?.usage;
    else if (type === "content_block_start") {
      called ||= event.content_block?.type === "tool_use";
      text += event.content_block?.text ?? "";
    } else if (type === "content_block_delta") text += event.delta?.text ?? "";
    else if (type === "message_delta") {
      usage = { ...usage, ...present(event.usage ?? {}) };
      if (event.delta?.stop_reason) finish = finishReason(event.delta.stop_reason, called);
    } else if (type === "message_stop") done = true;
  });

  return createDecoder({
    push: parser.push,
    flush: parser.end,
    close() {
      if (finish === undefined) throw cutShort();
      // Only the last event is missing, and it says nothing.
      out.push('event: message_stop\ndata: {"type":"message_stop"}\n\n');
      done = true;
    },
    take() {
      if (out.length === 0) return undefined;
      const bytes = Buffer.from(out.join(""));
      out = [];
      return bytes;
    },
    usage: () => (usage === undefined ? undefined : readUsage(usage)),
    finishReason: () => finish,
    text: () => text,
    failure: () => failure,
    done: () => done,
  });
}
