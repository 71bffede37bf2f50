/** Builds the items of a response delta by delta, and tells each step as an event of the stream. */
import {
  isJson,
  type JsonObject,
  type RawPart,
  sealExtras,
  type SignaturePart,
  SignedReasoning,
  type StreamedCallPart,
  type ToolCallPart,
} from "portico/provider";
import { type ItemKind, itemId } from "./archive.ts";
import { CALL_FORMS, type CallForm, type ToolId } from "./tools/call-forms.ts";

/** The tool that a function's name stands for. */
export type ToolOf = (name: string) => ToolId;

/** Takes the steps. */
export interface OutputEvents {
  tell(type: string, fields: JsonObject): void;
  /** One of many that are alike but for their delta. `at`: the members before it, as `membersOf` writes them; `more`: behind it. */
  delta(type: string, at: string, delta: string, more?: string): void;
}

/** For a response that is there as a whole. */
export const NO_EVENTS: OutputEvents = { tell() {}, delta() {} };

interface Call extends Pick<ToolCallPart, "id" | "extra_content"> {
  item: JsonObject;
  form: CallForm;
  index: number;
  args: string;
  /** Of its deltas. */
  at: string;
}

/** Makes what takes the steps of one response. */
export type OutputFactory = (responseId: string, events: OutputEvents, toolOf: ToolOf) => Output;

export interface Output {
  readonly items: JsonObject[];
  reasoning(delta: string): void;
  text(delta: string, logprobs?: unknown[]): void;
  annotation(annotation: JsonObject): void;
  refusal(delta: string): void;
  call(part: StreamedCallPart): void;
  callArguments(index: number, text: string): void;
  signature(part: SignaturePart): void;
  /** `extra_content` of the message, or of a call. */
  extra(part: RawPart): void;
  /** Closes what is open. `cut`: the last item is not complete. */
  end(cut: boolean): void;
}

/** The part or text of an item that is being written. */
type Open = { item: JsonObject; index: number; text: string; place: JsonObject; at: string } & (
  | { kind: "reasoning" }
  | { kind: "text" | "refusal"; logprobs: unknown[]; annotations: JsonObject[] }
);

export function createOutput(responseId: string, events: OutputEvents, toolOf: ToolOf): Output {
  const items: JsonObject[] = [];
  const calls = new Map<number, Call>();
  const openCalls = new Set<Call>();
  let latest: Call | undefined;
  let open: Open | undefined;
  const signed = new SignedReasoning();
  let extra: unknown;

  function add(kind: ItemKind, fields: JsonObject): { item: JsonObject; index: number } {
    const index = items.length;
    const item = { id: itemId(kind, responseId, index), ...fields };
    items.push(item);
    events.tell("response.output_item.added", { output_index: index, item: { ...item } });
    return { item, index };
  }

  function done(index: number, item: JsonObject): void {
    events.tell("response.output_item.done", { output_index: index, item: { ...item } });
  }

  function openReasoning(): Open {
    close("completed");
    closeCalls();
    const { item, index } = add("rs", { type: "reasoning", summary: [] });
    const part = { type: "summary_text", text: "" };
    const place = { item_id: item.id, output_index: index, summary_index: 0 };
    events.tell("response.reasoning_summary_part.added", { ...place, part });
    return { kind: "reasoning", item, index, text: "", place, at: membersOf(place) };
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
    const place = {
      item_id: item.id,
      output_index: index,
      content_index: (item.content as unknown[]).length,
    };
    events.tell("response.content_part.added", { ...place, part: emptyPart(kind) });
    const at = membersOf(place);
    return { kind, item, index, text: "", logprobs: [], annotations: [], place, at };
  }

  function closePart(part: Exclude<Open, { kind: "reasoning" }>): void {
    const { kind, item, text, logprobs, annotations, place } = part;
    const whole =
      kind === "text"
        ? { ...emptyPart(kind), text, annotations, logprobs }
        : { type: "refusal", refusal: text };
    if (kind === "text") events.tell("response.output_text.done", { ...place, text, logprobs });
    else events.tell("response.refusal.done", { ...place, refusal: text });
    events.tell("response.content_part.done", { ...place, part: whole });
    (item.content as JsonObject[]).push(whole);
  }

  function close(status: "completed" | "incomplete"): void {
    const last = open;
    open = undefined;
    if (last === undefined) return;
    const { item, index, text, place } = last;
    if (last.kind === "reasoning") {
      const part = { type: "summary_text", text };
      events.tell("response.reasoning_summary_text.done", { ...place, text });
      events.tell("response.reasoning_summary_part.done", { ...place, part });
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
    Object.assign(call.item, call.form.end(call.args));
    if (call.form === CALL_FORMS.function) endFunction(call);
    else if (call.form === CALL_FORMS.custom) endCustom(call);
    done(call.index, call.item);
  }

  function endFunction({ item, index, args }: Call): void {
    const at = { item_id: item.id, output_index: index, name: item.name };
    events.tell("response.function_call_arguments.done", { ...at, arguments: args });
  }

  /** The text stands in a JSON object, so it is known at the end only. */
  function endCustom({ item, index }: Call): void {
    const { input } = item;
    const at = { item_id: item.id, output_index: index };
    events.tell("response.custom_tool_call_input.delta", { ...at, delta: input });
    events.tell("response.custom_tool_call_input.done", { ...at, input });
  }

  function write(kind: "text" | "refusal", delta: string, logprobs: unknown[]): void {
    if (open?.kind !== kind) open = openPart(kind);
    const part = open as Exclude<Open, { kind: "reasoning" }>;
    part.text += delta;
    for (const one of logprobs) part.logprobs.push(one);
    if (kind === "refusal") events.delta("response.refusal.delta", part.at, delta);
    else
      events.delta(
        "response.output_text.delta",
        part.at,
        delta,
        `,"logprobs":${JSON.stringify(logprobs)}`,
      );
  }

  return {
    items,
    reasoning(delta) {
      if (open?.kind !== "reasoning") open = openReasoning();
      open.text += delta;
      events.delta("response.reasoning_summary_text.delta", open.at, delta);
    },
    text: (delta, logprobs = []) => write("text", delta, logprobs),
    annotation(annotation) {
      if (open?.kind !== "text") open = openPart("text");
      const part = open as Exclude<Open, { kind: "reasoning" }>;
      const at = { ...part.place, annotation_index: part.annotations.length };
      part.annotations.push(annotation);
      events.tell("response.output_text.annotation.added", { ...at, annotation });
    },
    refusal: (delta) => write("refusal", delta, []),
    call({ index: key, id: call_id, name, extra: extra_content }) {
      close("completed");
      // A call that is not whole yet (its fragments come mixed with another's) stays open.
      if (latest !== undefined && isJson(latest.args)) closeCall(latest, "completed");
      const tool = toolOf(name);
      const form = CALL_FORMS[tool.kind];
      const fields = { type: form.itemType, status: "in_progress", call_id };
      const added = add(form.idKind, { ...fields, ...form.begin(tool) });
      const at = membersOf({ item_id: added.item.id, output_index: added.index });
      const call: Call = { ...added, form, id: call_id, extra_content, args: "", at };
      calls.set(key, call);
      openCalls.add(call);
      latest = call;
    },
    callArguments(index, text) {
      const call = calls.get(index);
      if (call === undefined || text === "" || !openCalls.has(call)) return;
      call.args += text;
      if (call.form !== CALL_FORMS.function) return;
      events.delta("response.function_call_arguments.delta", call.at, text);
    },
    signature: (part) => signed.add(part),
    extra({ at, index, members }) {
      const call = at === "call" && index !== undefined ? calls.get(index) : undefined;
      if (call !== undefined) call.extra_content = members["extra_content"];
      else if (at === "delta") extra = members["extra_content"];
    },
    end(cut) {
      close(cut ? "incomplete" : "completed");
      closeCalls(cut ? "incomplete" : "completed");
      const own = extra ?? signed.extraContent(calls.size > 0);
      const sealed = sealExtras(own, [...calls.values()]);
      if (sealed === undefined) return;
      const { item, index } = add("rs", {
        type: "reasoning",
        summary: [],
        encrypted_content: sealed,
      });
      done(index, item);
    },
  };
}

/** The members of an object in JSON, to be written into another. */
function membersOf(object: JsonObject): string {
  return JSON.stringify(object).slice(1, -1);
}

function emptyPart(kind: "text" | "refusal"): JsonObject {
  return kind === "text"
    ? { type: "output_text", text: "", annotations: [], logprobs: [] }
    : { type: "refusal", refusal: "" };
}
