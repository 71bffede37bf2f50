/** For callers who speak the Messages API themselves: nothing is translated, so nothing is lost. */
import type { PorticoError } from "portico";
import {
  createDecoder,
  createFastPath,
  createSseParser,
  cutShort,
  errorInResponse,
  literalOf,
  type NativeForm,
  type NativeRequest,
  notJson,
  originOf,
  parseResponse,
  postJson,
  type StreamDecoder,
  type Target,
  textIfAny,
  toldText,
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
  const sent = {
    ...body,
    model: target.model,
    messages: (body.messages as Block[]).map(withoutForeign),
  };
  const ours = withHeaders({ ...headersFor(target), ...headers }, target.headers);
  return postJson(`${target.baseUrl}/v1/messages`, ours, sent, { state });
}

/** Reasoning that another provider answered has no signature that Anthropic would take. */
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

interface Event {
  type?: string;
  message?: { usage?: MessageUsage };
  content_block?: { type?: string; text?: string };
  delta?: { type?: string; text?: string; stop_reason?: string | null };
  usage?: MessageUsage;
  error?: unknown;
}

/** Events go out as they came; an error event, or one that a proxy has put among them, becomes the failure. */
function decoder(): StreamDecoder {
  let out: Buffer[] = [];
  let usage: MessageUsage | undefined;
  /** The text so far, escaped as in JSON. */
  let literal = "";
  let called = false;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;
  const isOver = () => done || failure !== undefined;

  const parser = createSseParser((data, name) => {
    if (isOver()) return;
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
    const written = Buffer.from(
      `event: ${type}\ndata: ${data.toString("utf8").replace(/[\r\n]/g, " ")}\n\n`,
    );
    out.push(written);
    if (type === "message_start") usage = event.message?.usage;
    else if (type === "content_block_start") {
      called ||= event.content_block?.type === "tool_use";
      literal += literalOf(toldText(event.content_block?.text, ""));
    } else if (type === "content_block_delta") {
      literal += literalOf(toldText(event.delta?.text, ""));
      if (event.delta?.type === "text_delta") fastPath.learn(written);
    } else if (type === "message_delta") {
      usage = { ...usage, ...present(event.usage ?? {}) };
      if (event.delta?.stop_reason) finish = finishReason(event.delta.stop_reason, called);
    } else if (type === "message_stop") done = true;
  });

  const fastPath = createFastPath({
    key: "text",
    events: "blocks",
    parser,
    onText(bytes, start, end) {
      if (!isOver()) literal += bytes.toString("utf8", start, end);
    },
    onEvents(bytes, start, end) {
      if (!isOver()) out.push(bytes.subarray(start, end));
    },
  });

  return createDecoder({
    push: fastPath.push,
    flush: fastPath.end,
    close() {
      if (finish === undefined) throw cutShort();
      // Only the last event is missing, and it says nothing.
      out.push(LAST_EVENT);
      done = true;
    },
    take() {
      if (out.length === 0) return undefined;
      const bytes = out.length === 1 ? out[0] : Buffer.concat(out);
      out = [];
      return bytes;
    },
    usage: () => (usage === undefined ? undefined : readUsage(usage)),
    finishReason: () => finish,
    text: () => textIfAny(literal),
    failure: () => failure,
    done: () => done,
  });
}

const LAST_EVENT = Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n');
