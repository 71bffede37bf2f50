/** Converts a whole response to parts, for callers that asked for a stream. */
import { isObject } from "../request/is-object.ts";
import { mintCallId } from "../response/call-ids.ts";
import type { ChatCompletion, ToolCallPart } from "../types/format.ts";
import type { StreamPart } from "../types/parts.ts";

type Choice = ChatCompletion["choices"][number];

/** The members of a message that have parts of their own. */
const READ_MEMBERS = new Set([
  ...["role", "content", "refusal", "reasoning", "reasoning_content"],
  ...["tool_calls", "audio", "annotations"],
]);

export function partsOfCompletion(completion: ChatCompletion): StreamPart[] {
  const { id, created, model, usage } = completion;
  const parts: StreamPart[] = [{ type: "start", id, created, model }];
  for (const choice of completion.choices) parts.push(...partsOfChoice(choice));
  if (usage != null) parts.push({ type: "usage", usage });
  return parts;
}

function partsOfChoice({ index: choice, message, logprobs, finish_reason }: Choice): StreamPart[] {
  const parts = partsOfText(message, choice, logprobs);
  const others = Object.entries(message).filter(
    ([key, value]) => !READ_MEMBERS.has(key) && value != null,
  );
  if (others.length > 0)
    parts.push({ type: "raw", at: "delta", choice, members: Object.fromEntries(others) });
  for (const [index, call] of (message.tool_calls ?? []).entries())
    parts.push(...partsOfCall(call, choice, index));
  parts.push({ type: "finish", choice, reason: finish_reason ?? "stop" });
  return parts;
}

/** The parts of a message's content. `logprobs` belong to the text, or to the refusal if there is no text. */
function partsOfText(
  { reasoning_content: reasoning, content, refusal, audio, annotations }: Choice["message"],
  choice: number,
  logprobs: unknown,
): StreamPart[] {
  const parts: StreamPart[] = [];
  const refusalLogprobs = isText(content) ? null : logprobs;
  if (isText(reasoning)) parts.push({ type: "reasoning", choice, text: reasoning });
  if (isText(content)) parts.push({ type: "text", choice, text: content, logprobs });
  if (isText(refusal))
    parts.push({ type: "refusal", choice, text: refusal, logprobs: refusalLogprobs });
  if (isObject(audio)) {
    const { transcript, ...members } = audio;
    parts.push({
      type: "audio",
      choice,
      transcript: isText(transcript) ? transcript : "",
      members,
    });
  }
  const list = Array.isArray(annotations) ? annotations.filter(isObject) : [];
  for (const annotation of list) parts.push({ type: "annotation", choice, annotation });
  return parts;
}

function partsOfCall(call: ToolCallPart, choice: number, index: number): StreamPart[] {
  const { id = mintCallId(), type: _, function: fn, extra_content: extra, ...more } = call;
  const custom = (more as { custom?: unknown }).custom;
  const isCustom = isObject(custom);
  const name = isCustom ? custom["name"] : fn?.name;
  const text = isCustom ? custom["input"] : (fn?.arguments ?? "{}");
  return [
    {
      type: "tool-call",
      choice,
      index,
      id,
      name: isText(name) ? name : "",
      withArguments: true,
      ...(isCustom && { custom: true }),
      ...(extra != null && { extra }),
    },
    { type: "tool-arguments", choice, index, text: isText(text) ? text : "" },
  ];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
