/** Pieces of a chat request in OpenAI's form, for the formats that are read into it. Throw 400 with `param`. */
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

/** The request's `model`, else the first of its `models`. */
export function modelAt(body: JsonObject): string {
  const named = body.model ?? (Array.isArray(body.models) ? body.models[0] : undefined);
  const model = stringAt(named, "model");
  if (model === "") throw refused("model", "`model` must not be empty");
  return model;
}

/** What a stream that is translated asks for: its usage too. */
export function streamFields(stream: boolean) {
  return stream ? { stream, stream_options: { include_usage: true } } : {};
}

export interface ReadFunction {
  name: string;
  description: string | undefined;
  strict: boolean | undefined;
}

/** Name, description and strictness of a tool. Each format has its parameters in another place. */
export function functionAt(tool: JsonObject, path: string): ReadFunction {
  const name = stringAt(tool.name, `${path}.name`);
  if (name === "") throw refused(`${path}.name`, "A tool needs a name");
  return {
    name,
    description: optionalString(tool.description, `${path}.description`),
    strict: optionalBoolean(tool.strict, `${path}.strict`),
  };
}

/** The one text that these parts are; undefined where one of them is something else, or bears a cache mark. */
export function onlyText(parts: readonly PartLike[]): string | undefined {
  return parts.every((part) => part.type === "text" && part.cache_control === undefined)
    ? parts.map((part) => part.text).join("\n")
    : undefined;
}

/** A message of the assistant. */
export function saidMessage<P extends PartLike, C extends { id?: string }>(said: Said<P, C>) {
  const { content, refusal, calls, thoughts, extras } = said;
  const extra = extras.find((one) => one.message !== undefined)?.message;
  const wordless = content.length === 0 && (calls.length > 0 || refusal !== undefined);
  return {
    role: "assistant",
    content: wordless ? null : (onlyText(content) ?? content),
    refusal,
    // Some models require it within a loop of calls, and none does later.
    reasoning_content: thoughts.length > 0 && calls.length > 0 ? thoughts.join("\n") : undefined,
    tool_calls: calls.length > 0 ? withExtras(calls, extras) : undefined,
    extra_content: extra,
  };
}

/**
 * The texts of a tool's result. Its other parts go to `shown`, for a message of the user that follows: a tool's message
 * holds text only.
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
