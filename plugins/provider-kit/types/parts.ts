/**
 * Steps of a model's response. Decoders of providers produce them, features (masking, hooks, metering) turn parts into
 * parts, and the ways in encode them.
 */
import type { Usage } from "./format.ts";
import type { PorticoError } from "portico";

/** OpenAI's words: `stop`, `length`, `tool_calls`, `content_filter`; another word of an OpenAI-format server passes. */
export type FinishReason = string;

/** One step of a response. Features replace parts that they change, and never write into one. */
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

/** Describes the response as a whole. It is the first part, and comes once. */
export interface StartPart extends FromEvent {
  type: "start";
  /** `chatcmpl-…` */
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
}

/** Some more text. */
export interface TextPart extends OfChoice {
  type: "text" | "reasoning" | "refusal";
  text: string;
  /** OpenAI's `logprobs` of this text. Anyone who changes the text leaves them out. */
  logprobs?: unknown;
}

/** The provider's seal on some reasoning, without which it does not take the reasoning back. */
export interface SignaturePart extends OfChoice {
  type: "reasoning-signature";
  data: string;
  /** The reasoning that is signed; empty for redacted reasoning, whose text is in `data`. */
  text: string;
  /** Nobody but the provider can read the reasoning. */
  redacted?: boolean;
  /** The models that accept the signature: see `originOf`. */
  origin: string;
}

/** A call begins. Its name is complete. */
export interface StreamedCallPart extends OfChoice {
  type: "tool-call";
  /** Counts the calls of a choice from 0. */
  index: number;
  id: string;
  name: string;
  /** Its arguments came with it, and follow as one part. */
  withArguments?: boolean;
  /** A call of OpenAI's type `custom`: its arguments are any text. */
  custom?: boolean;
  /** `extra_content`: data that the provider requires with the call in later requests. */
  extra?: unknown;
}

/** More of the arguments of a call that has begun. */
export interface ToolArgumentsPart extends OfChoice {
  type: "tool-arguments";
  index: number;
  text: string;
}

/** A piece of speech: some sound, some of its words, or both. */
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

/** Nothing more comes of this choice. */
export interface FinishPart extends OfChoice {
  type: "finish";
  reason: FinishReason;
}

/** What the upstream counted so far; a later one replaces an earlier one. */
export interface UsagePart extends FromEvent {
  type: "usage";
  usage: Usage;
}

/** Members of an OpenAI-format chunk that no other part has a word for. Only that format writes them. */
export interface RawPart extends OfChoice {
  type: "raw";
  /** The place of the members: the chunk, the choice, its delta, or the delta of the call `index`. */
  at: "chunk" | "choice" | "delta" | "call";
  index?: number;
  members: Record<string, unknown>;
  /** The members are a whole event of this format (`responses`), and mean nothing in OpenAI's. */
  format?: string;
  /** The event repeats texts as a whole: text that is still held back must be written before it. */
  endsText?: boolean;
}

/** The upstream keeps the connection busy. */
export interface CommentPart extends FromEvent {
  type: "comment";
  text: string;
}

/**
 * An event of the upstream, in the form in which it would be written again. A way in that writes the same format writes the
 * event itself where all its parts have come through unchanged: so unknown members, their order, and the marks of caches
 * survive.
 */
export interface SourceEvent {
  /** `openai`, `anthropic` or `responses`. */
  readonly format: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** JSON of the value: the upstream's own text where nothing was wrong with it. */
  readonly json: string;
  /** Choices whose role the event brings. */
  readonly opens: readonly number[];
  /** All that was read from the event, in order. */
  readonly parts: readonly StreamPart[];
  /** The event cannot be written for its parts: a call that it begins was completed by a later one. */
  readonly split: boolean;
}

/** Takes the bytes of one stream, cut anywhere. */
export interface PartDecoder {
  /** Returns the parts in the bytes. Throws `upstreamError` for an error event with nothing before it in these bytes. */
  push(bytes: Buffer): StreamPart[];
  /** The upstream ended cleanly. Throws where the response was cut short. */
  end(): StreamPart[];
  /** An error behind the parts that `push` or `end` has just returned. */
  readonly failure: PorticoError | undefined;
  /** The response is over: what the upstream may still send is of no interest. */
  readonly done: boolean;
  /** Every choice that has begun is finished: a connection that is cut now loses nothing. */
  readonly finished: boolean;
}

/** Writes one stream for a client. */
export interface StreamEncoder {
  write(parts: readonly StreamPart[]): string;
  /** The end of a response that is complete. */
  end(): string | Promise<string>;
  /** The last event of a stream that broke off. */
  fail(error: PorticoError): string;
  /** An error as an event; it changes nothing in the encoder. With it, a client whose worker is killed learns why. */
  error?(error: PorticoError): string;
}
