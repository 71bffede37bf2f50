/** Builds the items of an answer delta by delta, and tells each step as an event of the stream. */
import { isJson, type JsonObject, sealExtras, type ToolCallPart } from "portico/chat";
import { type ItemKind, itemId } from "./archive.ts";

export type Emit = (type: string, fields: JsonObject) => void;

interface Call extends ToolCallPart {
  item: JsonObject;
  index: number;
  args: string;
}

export interface Output {
  readonly items: JsonObject[];
  reasoning(delta: string): void;
  text(delta: string, logprobs?: unknown[]): void;
  refusal(delta: string): void;
  /** A delta of a tool call in OpenAI's chat form. */
  call(part: ToolCallPart): void;
  /** `extra_content` of the message. */
  extra(value: unknown): void;
  /** Closes what is open. `cut`: the last item is not complete. */
  end(cut: boolean): void;
}

/** The part or text of an item that is being written. */
type Open =
  | { kind: "reasoning"; item: JsonObject; index: number; text: string }
  | { kind: "text" | "refusal"; item: JsonObject; index: number; text: string; logprobs: unknown[] };

/** Calls of the `custom` tools become `custom_tool_call` items. */
export function createOutput(responseId: string, emit: Emit, custom: ReadonlySet<string>): Output {
  const items: JsonObject[] = [];
  const calls = new Map<number, Call>();
  const openCalls = new Set<Call>();
  let latest: Call | undefined;
  let open: Open | undefined;
  let extra: unknown;

  function add(kind: ItemKind, fields: JsonObject): { item: JsonObject; index: number } {
    const index = items.length;
    const item = { id: itemId(kind, responseId, index), ...fields };
    items.push(item);
    emit("response.output_item.added", { output_index: index, item: { ...item } });
    return { item, index };
  }

  function done(index: number, item: JsonObject): void {
    emit("response.output_item.done", { output_index: index, item: { ...item } });
  }

  function openReasoning(): Open {
    close("completed");
    closeCalls();
    const { item, index } = add("rs", { type: "reasoning", summary: [] });
    const part = { type: "summary_text", text: "" };
    emit("response.reasoning_summary_part.added", { item_id: item.id, output_index: index, summary_index: 0, part });
    return { kind: "reasoning", item, index, text: "" };
  }

  function openPart(kind: "text" | "refusal"): Open {
    const last = open;
    // A refusal after text is a second part of the same message.
    const same = last !== undefined && last.kind !== "reasoning";
    if (same) closePart(last);
    else close("completed");
    closeCalls();
    const { item, index } = same
      ? last
      : add("msg", { type: "message", status: "in_progress", role: "assistant", content: [] });
    const content_index = (item.content as unknown[]).length;
    emit("response.content_part.added", {
      item_id: item.id,
      output_index: index,
      content_index,
      part: emptyPart(kind),
    });
    return { kind, item, index, text: "", logprobs: [] };
  }

  function closePart(part: Exclude<Open, { kind: "reasoning" }>): void {
    const { kind, item, index, text, logprobs } = part;
    const content = item.content as JsonObject[];
    const at = { item_id: item.id, output_index: index, content_index: content.length };
    const whole = kind === "text" ? { ...emptyPart(kind), text, logprobs } : { type: "refusal", refusal: text };
    if (kind === "text") emit("response.output_text.done", { ...at, text, logprobs });
    else emit("response.refusal.done", { ...at, refusal: text });
    emit("response.content_part.done", { ...at, part: whole });
    content.push(whole);
  }

  function close(status: "completed" | "incomplete"): void {
    const last = open;
    open = undefined;
    if (last === undefined) return;
    const { item, index } = last;
    if (last.kind === "reasoning") {
      const at = { item_id: item.id, output_index: index, summary_index: 0 };
      const part = { type: "summary_text", text: last.text };
      emit("response.reasoning_summary_text.done", { ...at, text: last.text });
      emit("response.reasoning_summary_part.done", { ...at, part });
      item.summary = [part];
    } else {
      closePart(last);
      item.status = status;
    }
    done(index, item);
  }

  function closeCalls(status = "completed"): void {
    for (const call of openCalls) closeCall(call, status);
  }

  /** `status`: where its arguments are not whole. */
  function closeCall(call: Call, status: string): void {
    if (!openCalls.delete(call)) return;
    if (call.args === "") call.args = "{}";
    call.item.status = isJson(call.args) ? "completed" : status;
    if (call.item.type === "custom_tool_call") endCustom(call);
    else endFunction(call);
    done(call.index, call.item);
  }

  function endFunction({ item, index, args }: Call): void {
    item.arguments = args;
    const at = { item_id: item.id, output_index: index, name: item.name };
    emit("response.function_call_arguments.done", { ...at, arguments: args });
  }

  /** The text stands in a JSON object, so it is known at the end only. */
  function endCustom({ item, index, args }: Call): void {
    const input = inputOf(args);
    item.input = input;
    const at = { item_id: item.id, output_index: index };
    emit("response.custom_tool_call_input.delta", { ...at, delta: input });
    emit("response.custom_tool_call_input.done", { ...at, input });
  }

  function write(kind: "text" | "refusal", delta: string, logprobs: unknown[]): void {
    if (open?.kind !== kind) open = openPart(kind);
    const part = open as Exclude<Open, { kind: "reasoning" }>;
    part.text += delta;
    for (const one of logprobs) part.logprobs.push(one);
    const content_index = (part.item.content as unknown[]).length;
    const at = { item_id: part.item.id, output_index: part.index, content_index, delta };
    if (kind === "text") emit("response.output_text.delta", { ...at, logprobs });
    else emit("response.refusal.delta", at);
  }

  return {
    items,
    reasoning(delta) {
      if (open?.kind !== "reasoning") open = openReasoning();
      open.text += delta;
      const at = { item_id: open.item.id, output_index: open.index, summary_index: 0 };
      emit("response.reasoning_summary_text.delta", { ...at, delta });
    },
    text: (delta, logprobs = []) => write("text", delta, logprobs),
    refusal: (delta) => write("refusal", delta, []),
    call(part) {
      const key = part.index ?? 0;
      let call = calls.get(key);
      if (call === undefined) {
        close("completed");
        // A call that is not whole yet (its fragments come mixed with another's) stays open.
        if (latest !== undefined && isJson(latest.args)) closeCall(latest, "completed");
        const { id: call_id = "", function: fn } = part;
        const name = fn?.name ?? "";
        const fields = { status: "in_progress", call_id, name };
        const added = custom.has(name)
          ? add("ctc", { type: "custom_tool_call", ...fields, input: "" })
          : add("fc", { type: "function_call", ...fields, arguments: "" });
        call = { ...part, ...added, args: "" };
        calls.set(key, call);
        openCalls.add(call);
        latest = call;
      } else if (part.extra_content != null) call.extra_content = part.extra_content;
      const delta = part.function?.arguments ?? "";
      if (delta === "" || !openCalls.has(call)) return;
      call.args += delta;
      if (call.item.type === "custom_tool_call") return;
      emit("response.function_call_arguments.delta", { item_id: call.item.id, output_index: call.index, delta });
    },
    extra(value) {
      extra = value;
    },
    end(cut) {
      close(cut ? "incomplete" : "completed");
      closeCalls(cut ? "incomplete" : "completed");
      const sealed = sealExtras(extra, [...calls.values()]);
      if (sealed === undefined) return;
      const { item, index } = add("rs", { type: "reasoning", summary: [], encrypted_content: sealed });
      done(index, item);
    },
  };
}

function emptyPart(kind: "text" | "refusal"): JsonObject {
  return kind === "text"
    ? { type: "output_text", text: "", annotations: [], logprobs: [] }
    : { type: "refusal", refusal: "" };
}

function inputOf(args: string): string {
  try {
    const { input } = JSON.parse(args) as { input?: unknown };
    if (typeof input === "string") return input;
  } catch {}
  return args;
}
