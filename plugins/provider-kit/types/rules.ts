/** What a rule is: one thing that a provider demands of a whole request, and the change that satisfies it. */
import type { JsonObject } from "./json.ts";

/** One message of a chat request in OpenAI's form. */
export interface RuleMessage {
  role: string;
  content?: unknown;
  [member: string]: unknown;
}

/** A chat request in OpenAI's form. The gateway has checked its shape before any rule sees it. */
export interface RuleChat {
  model: string;
  messages: RuleMessage[];
  [member: string]: unknown;
}

/** A request in the form of Anthropic's Messages API. */
export type RuleMessages = JsonObject;

/** The target of the request. */
export interface RuleTarget {
  /** The upstream's own name of the model. */
  model: string;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The channel's entry of the configuration. */
  options: JsonObject;
}

/** What a rule may know, and how it records what it does. */
export interface RuleNotes {
  readonly target: RuleTarget;
  /** The client speaks another format, and the gateway has translated its request into this one. */
  readonly isTranslated: boolean;
  /** The bytes of the request contain no half of a surrogate pair. False where this was not checked. */
  readonly isWellFormed: boolean;
  /** Records a change, for `x-portico-changed`. `place` is a path such as `messages[2].content[0]`. */
  change(place: string): void;
  /** Records what was left out, for `x-portico-dropped`. */
  drop(path: string): void;
}

/**
 * One rule. `chat` and `messages` return the request itself where they change nothing, and a changed copy otherwise; they
 * throw `invalid_request_error` (400) with `param` where no change keeps the meaning.
 */
export interface RequestRule {
  /** The name in `x-portico-changed`. */
  readonly name: string;
  /** For documentation: what the provider demands, as a sentence. */
  readonly demand: string;
  /** For documentation: what the gateway does, as a sentence. */
  readonly remedy: string;
  /** The targets that the rule is for. Absent: all of the provider's. */
  readonly only?: { readonly where: string; test(target: RuleTarget): boolean };
  /** For requests in OpenAI's chat form. */
  chat?(request: RuleChat, notes: RuleNotes): RuleChat;
  /** For requests in the form of the Messages API, which go to an upstream of that form untranslated. */
  messages?(request: RuleMessages, notes: RuleNotes): RuleMessages;
}
