/** Mends the chunks of one stream in OpenAI's form where servers of that format go wrong, and knows how it must end. */
import { laterUsage, type Usage } from "portico/chat";
import {
  type CompletionDefaults,
  dropOthers,
  finishReason,
  isCompletionId,
  mendOwnText,
  mendText,
  mendUsage,
} from "./completion.ts";
import { literalOf } from "../kit/stream/literal.ts";
import { type Fields, isObject } from "./fields.ts";
import { StreamedCalls } from "./streamed-calls.ts";

export interface StreamOptions extends CompletionDefaults {
  /** The client asked for the usage chunk. */
  includeUsage: boolean;
  /** Keep the text, for events that tell of it. */
  capture?: boolean;
  /** Tell where in the stream texts stand, for handlers that want to see them. */
  tellTexts?: boolean;
}

interface ChoiceState {
  role: boolean;
  finished: boolean;
  calls: StreamedCalls;
}

export class ChunkMender {
  usage: Usage | undefined;
  /** The text of the first choice, escaped as in JSON. */
  literal = "";

  readonly #options: StreamOptions;
  #finishReason: string | undefined;
  #choices = new Map<number, ChoiceState>();
  #id: string | undefined;
  #created = 0;
  #model = "";
  #usageSent = false;
  #before: Fields[] = [];

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** A chunk has come. */
  get started(): boolean {
    return this.#id !== undefined;
  }

  /** Known once every choice that has begun is finished: what is cut off before is a loss. */
  get finishReason(): string | undefined {
    return this.#allFinished() ? this.#finishReason : undefined;
  }

  /** Chunks that must go out before the one that was mended last. */
  takeBefore(): Fields[] {
    const before = this.#before;
    if (before.length > 0) this.#before = [];
    return before;
  }

  /**
   * Mends the chunk in place. `drop`: nothing in it may go out; `pass`: it was good as it came; `renamed`: nothing but
   * its id, time or model was changed.
   */
  mend(chunk: Fields): "drop" | "pass" | "renamed" | "changed" {
    let changed = false;
    const usage = chunk["usage"];
    if (isObject(usage)) {
      if (mendUsage(usage)) changed = true;
      this.usage = laterUsage(this.usage, usage as unknown as Usage);
    }
    if (!Array.isArray(chunk["choices"])) chunk["choices"] = [];
    const choices = chunk["choices"] as unknown[];
    if (choices.length === 0) {
      // Azure's annotation frames, or a usage chunk that came early or was not asked for: clients look at `choices[0]`.
      if (
        !isObject(usage) ||
        !this.#options.includeUsage ||
        this.#usageSent ||
        isEmptyUsage(usage) ||
        !this.#allFinished()
      )
        return "drop";
      this.#usageSent = true;
      return this.#identify(chunk) || changed ? "changed" : "pass";
    }
    const renamed = this.#identify(chunk);
    if (isObject(usage)) {
      // It goes out in a chunk of its own at the end, if at all.
      delete chunk["usage"];
      changed = true;
    }
    let empty = true;
    for (let i = 0; i < choices.length; i++) {
      const choice = choices[i];
      if (!isObject(choice)) continue;
      const before = this.#choices.get(Number(choice["index"] ?? i))?.finished === true;
      if (this.#mendChoice(choice, i)) changed = true;
      if (!(before && isHollow(choice))) empty = false;
    }
    return empty ? "drop" : changed ? "changed" : renamed ? "renamed" : "pass";
  }

  /** What is missing before `[DONE]`: finish reasons, and the usage chunk. Where no choice came, an empty one. */
  closing(): Fields[] {
    const out: Fields[] = [];
    if (this.#choices.size === 0) {
      const first: Fields = {
        choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
      };
      this.mend(first);
      out.push(first);
    }
    const head = this.#head();
    for (const [index, state] of this.#choices) {
      if (state.finished) continue;
      state.finished = true;
      out.push(...this.#emptyArguments(index, state));
      const reason = state.calls.any ? "tool_calls" : "stop";
      this.#finishReason ??= reason;
      out.push({ ...head, choices: [{ index, delta: {}, finish_reason: reason }] });
    }
    if (this.#options.includeUsage && !this.#usageSent && this.usage !== undefined) {
      this.#usageSent = true;
      out.push({ ...head, choices: [], usage: this.usage });
    }
    return out;
  }

  /** One id, model and time throughout: those of the first chunk. */
  #identify(chunk: Fields): boolean {
    let changed = false;
    if (this.#id === undefined) {
      const { id, created, model } = this.#options;
      this.#id = isCompletionId(chunk["id"]) ? chunk["id"] : id;
      this.#created =
        Number.isInteger(chunk["created"]) && (chunk["created"] as number) > 0
          ? (chunk["created"] as number)
          : created;
      this.#model =
        typeof chunk["model"] === "string" && chunk["model"] !== "" ? chunk["model"] : model;
    }
    if (chunk["id"] !== this.#id) {
      chunk["id"] = this.#id;
      changed = true;
    }
    if (chunk["created"] !== this.#created) {
      chunk["created"] = this.#created;
      changed = true;
    }
    if (chunk["model"] !== this.#model) {
      chunk["model"] = this.#model;
      changed = true;
    }
    if (chunk["object"] !== "chat.completion.chunk") {
      chunk["object"] = "chat.completion.chunk";
      changed = true;
    }
    return changed;
  }

  #stateOf(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      state = { role: false, finished: false, calls: new StreamedCalls() };
      this.#choices.set(index, state);
    }
    return state;
  }

  #mendChoice(choice: Fields, position: number): boolean {
    let changed = false;
    if (typeof choice["index"] !== "number") {
      choice["index"] = position;
      changed = true;
    }
    if (!isObject(choice["delta"])) {
      choice["delta"] = isObject(choice["message"]) ? choice["message"] : {};
      delete choice["message"];
      changed = true;
    }
    const index = choice["index"] as number;
    const state = this.#stateOf(index);
    const delta = choice["delta"] as Fields;
    if (!state.role) {
      if (delta["role"] !== "assistant") {
        const { role: _, ...said } = delta;
        choice["delta"] = { role: "assistant", ...said };
        changed = true;
      }
      state.role = true;
    } else if ("role" in delta) {
      delete delta["role"];
      changed = true;
    }
    const mended = choice["delta"] as Fields;
    if (mendOwnText(choice, mended)) changed = true;
    if (mendText(mended)) changed = true;
    if (dropOthers(mended, "tool_calls")) changed = true;
    if (Array.isArray(mended["tool_calls"]) && state.calls.mend(mended["tool_calls"]))
      changed = true;
    if (index === 0 && this.#options.capture === true && typeof mended["content"] === "string") {
      this.literal += literalOf(mended["content"]);
    }
    const given = choice["finish_reason"];
    const reason = finishReason(given, state.calls.any);
    if (reason === undefined) {
      if (given !== null) {
        choice["finish_reason"] = null;
        changed = true;
      }
    } else if (state.finished) {
      choice["finish_reason"] = null;
      changed = true;
    } else {
      state.finished = true;
      this.#before.push(...this.#emptyArguments(index, state));
      this.#finishReason ??= reason;
      if (reason !== given) {
        choice["finish_reason"] = reason;
        changed = true;
      }
    }
    return changed;
  }

  /** A call without arguments has the empty object. */
  #emptyArguments(index: number, state: ChoiceState): Fields[] {
    const calls = state.calls
      .takeBare()
      .map((call) => ({ index: call, function: { arguments: "{}" } }));
    if (calls.length === 0) return [];
    return [
      { ...this.#head(), choices: [{ index, delta: { tool_calls: calls }, finish_reason: null }] },
    ];
  }

  #head(): Fields {
    return {
      id: this.#id,
      object: "chat.completion.chunk",
      created: this.#created,
      model: this.#model,
    };
  }

  #allFinished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const state of this.#choices.values()) if (!state.finished) return false;
    return true;
  }
}

/** Nothing but empty fields. */
function isHollow(choice: Fields): boolean {
  const delta = choice["delta"] as Fields;
  return (
    choice["finish_reason"] == null &&
    Object.keys(delta).every((key) => delta[key] === "" || delta[key] == null)
  );
}

/** A later chunk may have the real numbers. */
function isEmptyUsage(usage: Fields): boolean {
  return usage["prompt_tokens"] === 0 && usage["completion_tokens"] === 0;
}
