/** Writes the parts of a stream as the events of a response, numbered from 0. */
import type { PorticoError } from "portico";
import {
  type JsonObject,
  type StreamEncoder,
  type StreamPart,
  type Usage,
  writeParts,
} from "portico/provider";
import { isNativePart, NativeEvents, withOwnMembers } from "./native.ts";
import { createOutput, type OutputFactory, type ToolOf } from "./output.ts";
import { cutReason, endResponse, failedResponse, writePart } from "./response.ts";

/** `keep` is called with the finished response, before its last event goes out. */
export function createEncoder(
  response: JsonObject,
  keep: (ended: JsonObject) => Promise<void> | undefined,
  toolOf: ToolOf,
  makeOutput: OutputFactory = createOutput,
): StreamEncoder {
  let out = "";
  let number = 0;
  let model = response.model as string;
  let finish: string | null = null;
  let usage: Usage | undefined;
  const native = new NativeEvents(response);
  /** The channel speaks the format: its own events go out. */
  let isNative = false;
  /** The upstream has begun; the first event waits until it is known whose events go out. */
  let isBegun = false;

  function emit(type: string, fields: JsonObject): void {
    out += written(type, number++, fields);
  }
  /** As `emit` would write it. Nearly all events are deltas: an object for each, built again, took most of a stream's time. */
  function emitDelta(type: string, at: string, delta: string, more = ""): void {
    const head = `event: ${type}\ndata: {"type":"${type}","sequence_number":${number++},${at}`;
    out += `${head},"delta":${JSON.stringify(delta)}${more}}\n\n`;
  }
  function start(): void {
    if (number > 0) return;
    emit("response.created", { response: { ...response, model } });
    emit("response.in_progress", { response: { ...response, model } });
  }
  function take(): string {
    const text = out;
    out = "";
    return text;
  }
  const output = makeOutput(String(response.id), { tell: emit, delta: emitDelta }, toolOf);

  function add(part: StreamPart): void {
    switch (part.type) {
      case "start":
        model = part.model;
        isBegun = true;
        return;
      case "usage":
        usage = part.usage;
        return;
      case "comment":
        return;
      default:
        start();
        if (part.choice === 0) writePart(output, part);
        if (part.type === "finish" && part.choice === 0) finish = part.reason;
    }
  }

  function endNative(upstream: JsonObject): string | Promise<string> {
    const ended = withOwnMembers(upstream, response);
    return keep(ended)?.then(() => native.end(ended)) ?? native.end(ended);
  }

  return {
    write(parts) {
      writeParts(parts, "responses", {
        event(event) {
          isNative = true;
          out += native.event(event);
        },
        part(part) {
          isNative ||= isNativePart(part);
          if (isNative) out += native.part(part);
          else add(part);
          return false;
        },
      });
      if (isBegun && !isNative) start();
      return take();
    },

    end() {
      if (native.response !== undefined) return endNative(native.response);
      start();
      output.end(cutReason(finish) !== undefined);
      const ended = endResponse(response, { model, items: output.items, finish, usage });
      const last = () => {
        emit(`response.${String(ended.status)}`, { response: ended });
        return take();
      };
      return keep(ended)?.then(last) ?? last();
    },

    fail(error: PorticoError) {
      if (isNative) number = native.number;
      start();
      const { code, message, param } = error;
      emit("error", { code, message, param: param ?? null });
      const failed = failedResponse({ ...response, model, output: output.items }, error);
      emit("response.failed", { response: failed });
      return take();
    },

    error: ({ code, message, param }) =>
      written("error", isNative ? native.number : number, { code, message, param: param ?? null }),
  };
}

function written(type: string, number: number, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`;
}
