/** Reads a list of messages in OpenAI's form into turns, from which formats with strict rules can be written. */
import { parseCounted, TooManyValues } from "../json/exact-json.ts";
import type { MessageLike } from "./fields.ts";
import { refused } from "./fields.ts";
import { objectAt, stringAt } from "./read-value.ts";
import type {
  AssistantTurn,
  CallPart,
  Conversation,
  Part,
  ResultPart,
  TextPart,
  Turn,
  UserTurn,
} from "../types/conversation.ts";

/** The calls that have no result yet, by id. */
type PendingCalls = Map<string, CallPart>;

/**
 * Throws `invalid_request_error` (400) with `param` for an unknown role or part, arguments that are not a JSON object, a
 * tool result without a call, and a call without a result.
 */
export function readConversation(messages: readonly MessageLike[]): Conversation {
  const reader = new ConversationReader();
  for (const [i, message] of messages.entries()) reader.read(message, `messages[${i}]`);
  return reader.end();
}

const MESSAGE_MEMBERS = new Set([
  ...["role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal"],
  ...["reasoning_content", "extra_content", "prefix", "cache_control", "prompt_cache_breakpoint"],
]);
/** Members of a response's message, which clients send back unchanged. Dropping them does not change the meaning. */
const RESPONSE_MEMBERS = new Set(["annotations", "reasoning", "reasoning_details", "id", "status"]);

class ConversationReader {
  readonly #turns: Turn[] = [];
  readonly #dropped: string[] = [];
  /** The calls of the last assistant message that have no result yet. */
  #pendingCalls: PendingCalls = new Map();
  /** The results of the user turn that collects them. */
  #results: ResultPart[] | undefined;

  read(message: MessageLike, path: string): void {
    dropUnknown(message, MESSAGE_MEMBERS, path, this.#dropped);
    if (message.role === "tool" || message.role === "function") {
      this.#readResult(message, path);
      return;
    }
    requireResults(this.#pendingCalls);
    this.#results = undefined;
    if (typeof message.name === "string") this.#dropped.push(`${path}.name`);
    const parts = readParts(message.content, `${path}.content`, this.#dropped);
    switch (message.role) {
      case "system":
      case "developer":
        this.#turns.push({ role: "system", parts: markLast(parts, message).map(requireText) });
        return;
      case "user":
        this.#turns.push({ role: "user", results: [], parts: markLast(parts, message) });
        return;
      case "assistant":
        this.#readAssistant(message, parts, path);
        return;
      default:
        throw refused(`${path}.role`, `Unknown role ${JSON.stringify(message.role)}`);
    }
  }

  end(): Conversation {
    requireResults(this.#pendingCalls);
    return { turns: this.#turns, dropped: this.#dropped };
  }

  #readResult(message: MessageLike, path: string): void {
    const result = readResult(message, path, this.#pendingCalls, this.#dropped);
    this.#pendingCalls.delete(result.callId);
    if (this.#results === undefined) {
      this.#results = [];
      this.#turns.push({ role: "user", results: this.#results, parts: [] });
    }
    this.#results.push(result);
  }

  #readAssistant(message: MessageLike, parts: Part[], path: string): void {
    const calls = readCalls(message, path, this.#dropped);
    const { refusal, reasoning_content: reasoning, extra_content: extra } = message;
    if (parts.length === 0 && typeof refusal === "string" && refusal !== "")
      parts.push({ kind: "text", text: refusal, path: `${path}.refusal` });
    const mark = markOf(message);
    const lastCall = calls.at(-1);
    if (mark !== undefined && lastCall !== undefined) lastCall.cache ??= mark;
    this.#turns.push({
      role: "assistant",
      parts: lastCall === undefined ? markLast(parts, message) : parts,
      calls,
      reasoning: optionalText(reasoning),
      extra,
      ...(message.prefix === true && { prefix: true }),
    });
    this.#pendingCalls = new Map(calls.map((call) => [call.id, call]));
  }
}

/** Adds the paths of members that no translation reads to `dropped`. */
function dropUnknown(
  object: Record<string, unknown>,
  knownNames: ReadonlySet<string>,
  path: string,
  dropped: string[],
): void {
  for (const [name, value] of Object.entries(object)) {
    if (value == null || knownNames.has(name) || RESPONSE_MEMBERS.has(name)) continue;
    dropped.push(`${path}.${name}`);
  }
}

/** Returns the cache mark of a message, a part or a call. OpenAI's breakpoint is converted to Anthropic's mark. */
function markOf(object: Record<string, unknown>): unknown {
  const breakpoint = object.prompt_cache_breakpoint ? { type: "ephemeral" } : undefined;
  return object.cache_control ?? breakpoint ?? undefined;
}

/** Moves the cache mark of a message to its last part. */
function markLast(parts: Part[], message: MessageLike): Part[] {
  const mark = markOf(message);
  const last = parts.at(-1);
  if (mark !== undefined && last !== undefined && last.kind !== "audio") last.cache ??= mark;
  return parts;
}

/**
 * Merges the turns so that user and assistant strictly alternate, and returns the system texts separately. Omits blank
 * texts and turns without content, because no strict format accepts them.
 */
export function alternate(turns: readonly Turn[]): {
  system: TextPart[];
  turns: (UserTurn | AssistantTurn)[];
} {
  const system: TextPart[] = [];
  const merged: (UserTurn | AssistantTurn)[] = [];
  for (const turn of turns) {
    if (turn.role === "system") pushAll(system, turn.parts.filter(hasContent));
    else if (turn.role === "user") addUser(merged, turn);
    else addAssistant(merged, turn);
  }
  return { system, turns: merged };
}

function addUser(merged: (UserTurn | AssistantTurn)[], { results, parts }: UserTurn): void {
  const content = parts.filter(hasContent);
  if (content.length === 0 && results.length === 0) return;
  const last = merged.at(-1);
  if (last?.role === "user") {
    pushAll(last.results, results);
    pushAll(last.parts, content);
  } else merged.push({ role: "user", results: [...results], parts: content });
}

/** Adds a copy of an assistant turn, or merges the turn into the previous one if that is an assistant turn without calls. */
function addAssistant(merged: (UserTurn | AssistantTurn)[], turn: AssistantTurn): void {
  const content = turn.parts.filter(hasContent);
  if (content.length === 0 && turn.calls.length === 0) return;
  const last = merged.at(-1);
  if (last?.role === "assistant" && last.calls.length === 0) {
    pushAll(last.parts, content);
    last.calls = turn.calls;
    last.extra = turn.extra;
    // Appending to the string keeps the cost of many turns linear.
    if (turn.reasoning)
      last.reasoning = last.reasoning ? `${last.reasoning}\n${turn.reasoning}` : turn.reasoning;
  } else merged.push({ ...turn, parts: content });
}

/** Appends all items. A loop, because a request's list may have more items than a function call accepts arguments. */
function pushAll<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item);
}

/** Joins the texts of the parts. Ignores other kinds of parts, which the caller must have handled. */
export function textOf(parts: readonly Part[], separator = "\n"): string {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(separator);
}

/** False for a text that consists only of white space. */
export function hasContent(part: Part): boolean {
  return part.kind !== "text" || part.text.trim() !== "";
}

function readParts(content: unknown, path: string, dropped: string[]): Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ kind: "text", text: content, path }];
  if (!Array.isArray(content)) throw refused(path, "`content` must be a string or a list of parts");
  return content.map((part, i) => readPart(part, `${path}[${i}]`, dropped));
}

const PART_MEMBERS = new Set([
  ...["type", "text", "refusal", "image_url", "file", "input_audio"],
  ...["cache_control", "prompt_cache_breakpoint"],
]);

function readPart(value: unknown, path: string, dropped: string[]): Part {
  if (typeof value === "string") return { kind: "text", text: value, path };
  const part = objectAt(value, path);
  const cache = markOf(part);
  dropUnknown(part, PART_MEMBERS, path, dropped);
  switch (part.type) {
    case "text":
      return { kind: "text", text: stringAt(part.text, `${path}.text`), path, cache };
    case "refusal":
      return { kind: "text", text: stringAt(part.refusal, `${path}.refusal`), path };
    case "image_url": {
      const isUrl = typeof part.image_url === "string";
      const image = isUrl ? { url: part.image_url } : objectAt(part.image_url, `${path}.image_url`);
      const detail = (image as { detail?: unknown }).detail;
      if (typeof detail === "string" && detail !== "auto") dropped.push(`${path}.image_url.detail`);
      return {
        kind: "image",
        url: stringAt(image.url, `${path}.image_url.url`),
        path: `${path}.image_url`,
        cache,
      };
    }
    case "file": {
      const file = objectAt(part.file, `${path}.file`);
      return {
        kind: "file",
        data: optionalText(file.file_data),
        fileId: optionalText(file.file_id),
        filename: optionalText(file.filename),
        path: `${path}.file`,
        cache,
      };
    }
    case "input_audio": {
      const audio = objectAt(part.input_audio, `${path}.input_audio`);
      return {
        kind: "audio",
        data: stringAt(audio.data, `${path}.input_audio.data`),
        format: stringAt(audio.format, `${path}.input_audio.format`),
        path: `${path}.input_audio`,
      };
    }
    default:
      throw refused(
        `${path}.type`,
        `This channel does not accept content of type ${JSON.stringify(part.type)}`,
      );
  }
}

function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function requireText(part: Part): TextPart {
  if (part.kind === "text") return part;
  throw refused(part.path, "A system message may contain only text");
}

const CALL_MEMBERS = new Set(["id", "type", "index", "function", "extra_content", "cache_control"]);

const FUNCTION_MEMBERS = new Set(["name", "arguments"]);

function readCalls(message: MessageLike, path: string, dropped: string[]): CallPart[] {
  const list = message.tool_calls;
  if (list === undefined || list === null) return readLegacyCall(message, path);
  if (!Array.isArray(list)) throw refused(`${path}.tool_calls`, "`tool_calls` must be a list");
  const ids = new Set<string>();
  return list.map((value, i) => {
    const at = `${path}.tool_calls[${i}]`;
    const call = objectAt(value, at);
    dropUnknown(call, CALL_MEMBERS, at, dropped);
    if (call.type !== undefined && call.type !== "function") {
      throw refused(`${at}.type`, "This channel accepts only calls of type function");
    }
    const id = stringAt(call.id, `${at}.id`);
    if (id === "" || ids.has(id))
      throw refused(`${at}.id`, "Each tool call of a message needs a unique id");
    ids.add(id);
    const fn = objectAt(call.function, `${at}.function`);
    dropUnknown(fn, FUNCTION_MEMBERS, `${at}.function`, dropped);
    const args = readArguments(fn.arguments, `${at}.function.arguments`);
    return {
      id,
      name: stringAt(fn.name, `${at}.function.name`),
      args,
      extra: call.extra_content,
      path: at,
      cache: markOf(call),
    };
  });
}

/** Reads `function_call`, whose call has no id. Returns an empty list if the message has none. */
function readLegacyCall(message: MessageLike, path: string): CallPart[] {
  const legacy = message.function_call;
  if (legacy === undefined || legacy === null) return [];
  const call = objectAt(legacy, `${path}.function_call`);
  const name = stringAt(call.name, `${path}.function_call.name`);
  const args = readArguments(call.arguments, `${path}.function_call.arguments`);
  return [{ id: `call_${name}`, name, args, extra: undefined, path: `${path}.function_call` }];
}

function readArguments(value: unknown, path: string): Record<string, unknown> {
  if (value === undefined || value === null || value === "") return {};
  let parsed: unknown = value;
  if (typeof value === "string") {
    try {
      parsed = parseCounted(value);
    } catch (error) {
      const reason = error instanceof TooManyValues ? `: ${error.message}` : "";
      throw refused(path, `The arguments of a tool call must be JSON${reason}`);
    }
  }
  if (parsed === null) return {};
  return objectAt(parsed, path);
}

function readResult(
  message: MessageLike,
  path: string,
  pendingCalls: PendingCalls,
  dropped: string[],
): ResultPart {
  const isLegacy = message.role === "function";
  const param = isLegacy ? `${path}.name` : `${path}.tool_call_id`;
  const [first] = pendingCalls.values();
  const call = isLegacy
    ? first
    : pendingCalls.get(typeof message.tool_call_id === "string" ? message.tool_call_id : "");
  if (call === undefined || (isLegacy && call.name !== message.name)) {
    throw refused(
      param,
      "This tool message does not match an unanswered tool call of the preceding assistant message",
    );
  }
  const parts = readParts(message.content, `${path}.content`, dropped);
  return { callId: call.id, name: call.name, parts, path, cache: markOf(message) };
}

function requireResults(pendingCalls: PendingCalls): void {
  const [call] = pendingCalls.values();
  if (call === undefined) return;
  throw refused(call.path, `The tool call ${call.id} has no tool message that answers it`);
}
