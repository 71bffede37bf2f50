/** A stream of chunks as the Messages API's events. */
import type { PorticoError } from "portico";
import {
  type ChatChunk,
  isJson,
  sealExtras,
  type StreamTranslator,
  type ToolCallPart,
  type Usage,
} from "portico/chat";
import { messageId, stopReason, usageOf } from "./response.ts";
import { errorType } from "./errors.ts";

interface Call extends ToolCallPart {
  /** Of its content block. */
  block: number;
  args: string;
}

/** `model` is what the caller asked for, until the response names its own. */
export function createTranslator(model: string, requestId: string): StreamTranslator {
  let out = "";
  let started = false;
  let blocks = 0;
  /** The text or thinking block that is being written. */
  let open: { type: "text" | "thinking"; index: number } | undefined;
  const calls = new Map<number, Call>();
  const openCalls = new Set<Call>();
  let latest: Call | undefined;
  let extra: unknown;
  let finish: string | null = null;
  let usage: Usage | undefined;

  function event(type: string, fields: object): void {
    out += `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  }

  /** As `event` would write it, without an object for each: nearly all events are deltas. `key`: the member with the text. */
  function deltaEvent(index: number, type: string, key: string, text: string): void {
    const delta = `{"type":"${type}","${key}":${JSON.stringify(text)}}`;
    out += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${delta}}\n\n`;
  }

  function start(chunk?: ChatChunk): void {
    if (started) return;
    started = true;
    const message = {
      id: messageId(chunk?.id ?? `msg_${requestId}`),
      type: "message",
      role: "assistant",
      model: chunk?.model ?? model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf(usage),
    };
    event("message_start", { message });
    event("ping", {});
  }

  function openBlock(contentBlock: object): number {
    const index = blocks++;
    event("content_block_start", { index, content_block: contentBlock });
    return index;
  }

  function close(): void {
    if (open === undefined) return;
    event("content_block_stop", { index: open.index });
    open = undefined;
  }

  function write(type: "text" | "thinking", text: string): void {
    if (open?.type !== type) {
      close();
      closeCalls();
      const empty = type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
      open = { type, index: openBlock(empty) };
    }
    deltaEvent(open.index, `${type}_delta`, type, text);
  }

  function callPart(part: ToolCallPart): void {
    const index = part.index ?? 0;
    let call = calls.get(index);
    if (call === undefined) {
      close();
      // A call that is not whole yet (its fragments come mixed with another's) stays open.
      if (latest !== undefined && isJson(latest.args)) closeCall(latest);
      const { id = "", function: fn } = part;
      const block = openBlock({ type: "tool_use", id, name: fn?.name ?? "", input: {} });
      call = { ...part, block, args: "" };
      calls.set(index, call);
      openCalls.add(call);
      latest = call;
    } else {
      if (part.extra_content != null) call.extra_content = part.extra_content;
    }
    const delta = part.function?.arguments ?? "";
    if (delta !== "" && openCalls.has(call)) argumentsDelta(call, delta);
  }

  function argumentsDelta(call: Call, delta: string): void {
    call.args += delta;
    deltaEvent(call.block, "input_json_delta", "partial_json", delta);
  }

  function closeCall(call: Call): void {
    if (!openCalls.delete(call)) return;
    if (call.args === "") argumentsDelta(call, "{}");
    event("content_block_stop", { index: call.block });
  }

  function closeCalls(): void {
    for (const call of openCalls) closeCall(call);
  }

  function error({ status, message }: PorticoError): string {
    const data = {
      type: "error",
      error: { type: errorType(status), message },
      request_id: requestId,
    };
    return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
  }

  function take(): string {
    const text = out;
    out = "";
    return text;
  }

  return {
    chunk(chunk) {
      if (chunk.usage != null) usage = chunk.usage;
      start(chunk);
      const choice = chunk.choices.find((one) => one.index === 0);
      if (choice === undefined) return take();
      const { delta } = choice;
      if (delta.reasoning_content) write("thinking", delta.reasoning_content);
      if (typeof delta.content === "string" && delta.content !== "") write("text", delta.content);
      if (typeof delta["refusal"] === "string" && delta["refusal"] !== "")
        write("text", delta["refusal"]);
      for (const part of delta.tool_calls ?? []) callPart(part);
      if (delta["extra_content"] != null) extra = delta["extra_content"];
      finish = choice.finish_reason ?? finish;
      return take();
    },

    text(text) {
      write("text", text);
      return take();
    },

    end() {
      start();
      close();
      closeCalls();
      const sealed = sealExtras(extra, [...calls.values()]);
      if (sealed !== undefined)
        event("content_block_stop", {
          index: openBlock({ type: "redacted_thinking", data: sealed }),
        });
      const delta = { stop_reason: stopReason(finish, calls.size > 0), stop_sequence: null };
      event("message_delta", { delta, usage: usageOf(usage) });
      event("message_stop", {});
      return take();
    },

    fail: error,
    error,
  };
}
