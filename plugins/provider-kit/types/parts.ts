/**
 * The steps of a model's response. Decoders of providers produce them, features (masking, hooks, metering) transform them,
 * and the ways in encode them.
 */
import type { Usage } from "./format.ts";
import type { PorticoError } from "portico";

/** `stop`, `length`, `tool_calls`, `content_filter`, or another value of a server of OpenAI's format. */
export type FinishReason = string;

/** One step of a response. Parts are immutable for features, which replace a part to change it. */
export type StreamPart =
  | StartPart
  | TextPart
  | SignaturePart
  | StreamedCallPart
  | ToolArgumentsPart
  | AudioPart
  | AnnotationPart
  | FinishPart
  | UsagePart
  | RawPart
  | CommentPart;

interface FromEvent {
  /** The upstream's event that the part was read from: see `SourceEvent`. */
  source?: SourceEvent | undefined;
}

interface OfChoice extends FromEvent {
  choice: number;
}

/** Describes the response as a whole. It is the first part, and occurs once. */
export interface StartPart extends FromEvent {
  type: "start";
  /** `chatcmpl-…` */
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
}

/** A further fragment of text. */
export interface TextPart extends OfChoice {
  type: "text" | "reasoning" | "refusal";
  text: string;
  /** OpenAI's `logprobs` of this text. A feature that changes the text omits them. */
  logprobs?: unknown;
}

/** The provider's signature of some reasoning. The provider accepts the reasoning in later requests only with it. */
export interface SignaturePart extends OfChoice {
  type: "reasoning-signature";
  data: string;
  /** The reasoning that is signed; empty for redacted reasoning, whose text is in `data`. */
  text: string;
  /** True if only the provider can read the reasoning. */
  redacted?: boolean;
  /** The models that accept the signature: see `originOf`. */
  origin: string;
}

/** The beginning of a call, with its complete name. */
export interface StreamedCallPart extends OfChoice {
  type: "tool-call";
  /** Counts the calls of a choice from 0. */
  index: number;
  id: string;
  name: string;
  /** True if its arguments came with it. They follow as one part. */
  withArguments?: boolean;
  /** True for a call of OpenAI's type `custom`, whose arguments are free text. */
  custom?: boolean;
  /** `extra_content`: data that the provider requires with the call in later requests. */
  extra?: unknown;
}

/** A further fragment of the arguments of a call. */
export interface ToolArgumentsPart extends OfChoice {
  type: "tool-arguments";
  index: number;
  text: string;
}

/** A fragment of speech: sound, its transcript, or both. */
export interface AudioPart extends OfChoice {
  type: "audio";
  transcript: string;
  /** All other members of OpenAI's `audio`: `id`, `data` (base64), `expires_at`. */
  members: Record<string, unknown>;
}

/** A citation, in OpenAI's form. */
export interface AnnotationPart extends OfChoice {
  type: "annotation";
  annotation: Record<string, unknown>;
}

/** The end of a choice. */
export interface FinishPart extends OfChoice {
  type: "finish";
  reason: FinishReason;
}

/** The upstream's counts so far. A later part replaces an earlier one. */
export interface UsagePart extends FromEvent {
  type: "usage";
  usage: Usage;
}

/** Members of an OpenAI-format chunk that no other part can express. Only encoders of that format write them. */
export interface RawPart extends OfChoice {
  type: "raw";
  /** The place of the members: the chunk, the choice, its delta, or the delta of the call `index`. */
  at: "chunk" | "choice" | "delta" | "call";
  index?: number;
  members: Record<string, unknown>;
  /** Set if the members are a whole event of this format (`responses`), which has no meaning in OpenAI's format. */
  format?: string;
  /** True if the event repeats whole texts. Text that is still held back must then be written before it. */
  endsText?: boolean;
}

/** A comment with which the upstream keeps the connection alive. */
export interface CommentPart extends FromEvent {
  type: "comment";
  text: string;
}

/**
 * An event of the upstream, in the form in which it would be written again. A way in of the same format writes the event
 * itself if no feature has changed its parts. This preserves unknown members, their order, and cache marks.
 */
export interface SourceEvent {
  /** `openai`, `anthropic` or `responses`. */
  readonly format: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** The value as JSON: the upstream's own text if it needed no repair. */
  readonly json: string;
  /** The choices whose role the event contains. */
  readonly opens: readonly number[];
  /** All parts that were read from the event, in order. */
  readonly parts: readonly StreamPart[];
  /** True if the event cannot be written in place of its parts, because a later event completed a call that it begins. */
  readonly split: boolean;
}

/** Decodes the bytes of one stream, which may be cut anywhere. */
export interface PartDecoder {
  /** Returns the parts in the bytes. Throws `upstreamError` for an error event with nothing before it in these bytes. */
  push(bytes: Buffer): StreamPart[];
  /** Ends a stream that the upstream has ended cleanly. Throws if the response was cut short. */
  end(): StreamPart[];
  /** An error that follows the parts that `push` or `end` has just returned. */
  readonly failure: PorticoError | undefined;
  /** True once the response has ended. The caller ignores further bytes of the upstream. */
  readonly done: boolean;
  /** True once every choice that has begun is finished. A connection that is cut later loses nothing. */
  readonly finished: boolean;
}

/** Encodes one stream for a client. */
export interface StreamEncoder {
  write(parts: readonly StreamPart[]): string;
  /** Returns the end of a complete response. */
  end(): string | Promise<string>;
  /** Returns the last event of a stream that broke off. */
  fail(error: PorticoError): string;
  /** Returns an error as an event, without changing the encoder. It tells a client whose worker is killed the reason. */
  error?(error: PorticoError): string;
}
