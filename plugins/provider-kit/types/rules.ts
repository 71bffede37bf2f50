/** The types of rules. A rule is one demand of a provider on a whole request, and the change that satisfies it. */
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

/** The facts that a rule may use, and the functions with which it records what it does. */
export interface RuleNotes {
  readonly target: RuleTarget;
  /** True if the client speaks another format, from which the gateway has translated its request. */
  readonly isTranslated: boolean;
  /** True if the request is known to contain no half of a surrogate pair. False also if this was not checked. */
  readonly isWellFormed: boolean;
  /** Records a change, for `x-portico-changed`. `place` is a path such as `messages[2].content[0]`. */
  change(place: string): void;
  /** Records the path of a removed member, for `x-portico-dropped`. */
  drop(path: string): void;
}

/**
 * One rule. `chat` and `messages` return the request itself if they change nothing, and a changed copy otherwise. They
 * throw `invalid_request_error` (400) with `param` if no change would preserve the meaning.
 */
export interface RequestRule {
  /** The name in `x-portico-changed`. */
  readonly name: string;
  /** For documentation: what the provider demands, as a sentence. */
  readonly demand: string;
  /** For documentation: what the gateway does, as a sentence. */
  readonly remedy: string;
  /** The targets to which the rule applies. Absent: all targets of the provider. */
  readonly only?: { readonly where: string; test(target: RuleTarget): boolean };
  /** For requests in OpenAI's chat form. */
  chat?(request: RuleChat, notes: RuleNotes): RuleChat;
  /** For requests in the form of the Messages API, which go to an upstream of that form untranslated. */
  messages?(request: RuleMessages, notes: RuleNotes): RuleMessages;
}
