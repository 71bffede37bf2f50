/** Builds elements of a chat request in OpenAI's form, for formats that are translated into it. Throws 400 with `param`. */
import { refused } from "./fields.ts";
import { type JsonObject, optionalBoolean, optionalString, stringAt } from "./read-value.ts";
import { type Extras, withExtras } from "../sealed-extras.ts";

interface PartLike {
  type: string;
  text?: string;
  cache_control?: unknown;
}

/** The content of consecutive turns of the assistant. */
export interface Said<P extends PartLike, C extends { id?: string }> {
  content: P[];
  refusal?: string | undefined;
  calls: C[];
  thoughts: string[];
  extras: Extras[];
}

/** Returns the request's `model`, or otherwise the first of its `models`. */
export function modelAt(body: JsonObject): string {
  const value = body.model ?? (Array.isArray(body.models) ? body.models[0] : undefined);
  const model = stringAt(value, "model");
  if (model === "") throw refused("model", "`model` must not be empty");
  return model;
}

/** Returns the fields that request a stream with its usage, which a translated stream needs. */
export function streamFields(stream: boolean) {
  return stream ? { stream, stream_options: { include_usage: true } } : {};
}

export interface ReadFunction {
  name: string;
  description: string | undefined;
  strict: boolean | undefined;
}

/** Reads the name, description and strictness of a tool. The place of its parameters depends on the format. */
export function functionAt(tool: JsonObject, path: string): ReadFunction {
  const name = stringAt(tool.name, `${path}.name`);
  if (name === "") throw refused(`${path}.name`, "A tool needs a name");
  return {
    name,
    description: optionalString(tool.description, `${path}.description`),
    strict: optionalBoolean(tool.strict, `${path}.strict`),
  };
}

/** Joins parts that are all texts; undefined if one of them is not a text, or has a cache mark. */
export function onlyText(parts: readonly PartLike[]): string | undefined {
  return parts.every((part) => part.type === "text" && part.cache_control === undefined)
    ? parts.map((part) => part.text).join("\n")
    : undefined;
}

/** Builds a message of the assistant from its content. */
export function saidMessage<P extends PartLike, C extends { id?: string }>(turn: Said<P, C>) {
  const { content, refusal, calls, thoughts, extras } = turn;
  const extra = extras.find(({ message }) => message !== undefined)?.message;
  const hasNoContent = content.length === 0 && (calls.length > 0 || refusal !== undefined);
  return {
    role: "assistant",
    content: hasNoContent ? null : (onlyText(content) ?? content),
    refusal,
    // Some models require their reasoning within a loop of calls; none requires it later.
    reasoning_content: thoughts.length > 0 && calls.length > 0 ? thoughts.join("\n") : undefined,
    tool_calls: calls.length > 0 ? withExtras(calls, extras) : undefined,
    extra_content: extra,
  };
}

/**
 * Returns the texts of a tool's result. Adds its other parts to `shown`, for a user message that follows, because a tool
 * message may contain only text.
 */
export function resultText<P extends PartLike>(
  id: string,
  parts: readonly P[],
  shown: (P | PartLike)[],
): string {
  const others = parts.filter((part) => part.type !== "text");
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (others.length > 0)
    shown.push({ type: "text", text: `From the result of the tool call ${id}:` });
  for (const other of others) shown.push(other);
  return text === "" && others.length > 0 ? "(The result is shown in the next message.)" : text;
}
