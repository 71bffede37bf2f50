/**
 * Masks secrets in the parts of a stream, also a secret that is spread over many parts. It holds back a text whose end may
 * be the beginning of a secret, and passes on every other part as the same object.
 */
import type { RawPart, StreamPart } from "portico/provider";
import { isObject, type JsonMembers } from "portico/provider";
import { MASK } from "portico";
import { HeldText } from "./held-text.ts";
import type { SecretMask } from "./secret-mask.ts";

/** No honest stream has so many texts that end with the beginning of a secret. */
const MAX_HOLDING = 64;
/** Where another text of the choice continues, a pending text is released if at most this much of a secret matches. */
const RELEASABLE_LENGTH = 6;
/** Members whose strings are complete in each event. */
const WHOLE_MEMBERS = new Set(["role", "type", "id", "name", "signature"]);

/** A part that continues a text of its choice. */
type TextualPart = Extract<
  StreamPart,
  { type: "text" | "reasoning" | "refusal" | "tool-arguments" }
>;

/** One text of the stream, which arrives in parts. */
interface GrowingText {
  readonly choice: number;
  readonly text: HeldText;
  /** Creates the part that carries characters that were held back. */
  readonly partOf: (text: string) => StreamPart;
}

export class PartMask {
  readonly #mask: SecretMask;
  /** The texts by choice, and by their key within the choice. */
  readonly #growing = new Map<number, Map<string, GrowingText>>();
  /** The texts that hold back characters. */
  readonly #holding = new Set<GrowingText>();
  /** The last members of a chunk in which no secret was found. */
  #harmless: JsonMembers | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  push(parts: StreamPart[]): StreamPart[] {
    const out: StreamPart[] = [];
    for (const part of parts) this.#maskPart(part, out);
    return out;
  }

  /** Returns the parts that are still held back at the end. */
  end(): StreamPart[] {
    return [...this.#holding].map((growing) => this.#release(growing, true));
  }

  #maskPart(part: StreamPart, out: StreamPart[]): void {
    switch (part.type) {
      case "text":
      case "reasoning":
      case "refusal":
      case "tool-arguments":
        this.#maskText(part, out);
        return;
      case "audio":
        this.#maskAudio(part, out);
        return;
      case "finish":
        this.#releaseChoice(part.choice, out);
        out.push(part);
        return;
      case "raw":
        this.#maskRaw(part, out);
        return;
      case "usage":
        out.push(part);
        return;
      default:
        if ("choice" in part) this.#releaseHarmless(part.choice, undefined, out);
        out.push(this.#maskWhole(part));
    }
  }

  #maskText(part: TextualPart, out: StreamPart[]): void {
    const { type, choice } = part;
    const growing = this.#growingText(part);
    if (part.text !== "") this.#releaseHarmless(choice, growing, out);
    const shown = this.#grow(growing, part.text);
    const logprobs = type === "tool-arguments" ? undefined : this.#maskValue(part.logprobs);
    const isSame = type === "tool-arguments" || logprobs === part.logprobs;
    if (shown === part.text && isSame) out.push(part);
    else if (shown !== "")
      out.push(withText(part, shown, shown === part.text ? logprobs : undefined));
  }

  /** Finds or begins the text that the part continues. */
  #growingText(part: TextualPart): GrowingText {
    const { type, choice } = part;
    if (type !== "tool-arguments")
      return (
        this.#find(choice, type) ?? this.#begin(choice, type, (text) => ({ type, choice, text }))
      );
    const { index } = part;
    const key = `${type} ${index}`;
    const partOf = (text: string): StreamPart => ({ type, choice, index, text });
    return this.#find(choice, key) ?? this.#begin(choice, key, partOf);
  }

  #maskAudio(part: Extract<StreamPart, { type: "audio" }>, out: StreamPart[]): void {
    const { choice } = part;
    const partOf = (text: string): StreamPart => ({
      type: "audio",
      choice,
      transcript: text,
      members: {},
    });
    const growing = this.#find(choice, "audio") ?? this.#begin(choice, "audio", partOf);
    if (part.transcript !== "") this.#releaseHarmless(choice, growing, out);
    const transcript = this.#grow(growing, part.transcript);
    const members = this.#maskMembers(part.members, { at: "delta", choice }, ".audio", out);
    const isSame = transcript === part.transcript && members === part.members;
    out.push(isSame ? part : { ...part, transcript, members, source: undefined });
  }

  #maskRaw(part: RawPart, out: StreamPart[]): void {
    const isWhole = part.at === "chunk";
    if (part.endsText === true) this.#releaseChoice(part.choice, out);
    const members = isWhole
      ? this.#maskChunkMembers(part.members)
      : this.#maskMembers(part.members, part, "", out);
    out.push(members === part.members ? part : { ...part, members, source: undefined });
  }

  /** Most chunks of a stream share one members object, so the last harmless one is not checked again. */
  #maskChunkMembers(members: JsonMembers): JsonMembers {
    if (members === this.#harmless) return members;
    const hidden = this.#maskValue(members);
    if (hidden === members) this.#harmless = members;
    return hidden;
  }

  /** Masks a part whose texts are complete. */
  #maskWhole(part: StreamPart): StreamPart {
    const { source, ...own } = part;
    const hidden = this.#maskValue(own);
    return hidden === own ? part : hidden;
  }

  #maskValue<T>(value: T): T {
    if (value == null) return value;
    return this.#mask.mayStandInText(JSON.stringify(value)) ? this.#mask.value(value) : value;
  }

  /** Masks members whose strings may each be a part of a longer text. */
  #maskMembers(members: JsonMembers, place: Place, path: string, out: StreamPart[]): JsonMembers {
    let changed = false;
    const visit = (value: unknown, at: string, key: string): unknown => {
      if (typeof value === "string") {
        const shown = this.#maskString(value, place, at, key, out);
        changed ||= shown !== value;
        return shown;
      }
      if (Array.isArray(value)) return value.map((item, i) => visit(item, `${at}[${i}]`, ""));
      if (!isObject(value)) return value;
      const entries = Object.entries(value);
      return Object.fromEntries(
        entries.map(([name, item]) => [name, visit(item, `${at}.${name}`, name)]),
      );
    };
    const shown = visit(this.#maskValue(members), path, "") as JsonMembers;
    return changed ? shown : this.#maskValue(members);
  }

  #maskString(value: string, place: Place, path: string, key: string, out: StreamPart[]): string {
    if (WHOLE_MEMBERS.has(key)) return value;
    const { at, choice, index } = place;
    const textKey = `raw ${at} ${index ?? ""}${path}`;
    const partOf = (text: string): StreamPart => ({
      type: "raw",
      at,
      choice,
      ...(index !== undefined && { index }),
      members: membersAt(path, text),
    });
    const growing = this.#find(choice, textKey) ?? this.#begin(choice, textKey, partOf);
    if (value !== "") this.#releaseHarmless(choice, growing, out);
    return this.#grow(growing, value);
  }

  #find(choice: number, key: string): GrowingText | undefined {
    return this.#growing.get(choice)?.get(key);
  }

  /** Begins a text. `partOf` creates the part that carries characters that were held back. */
  #begin(choice: number, key: string, partOf: GrowingText["partOf"]): GrowingText {
    const growing = { choice, text: new HeldText(this.#mask.automaton), partOf };
    const ofChoice = this.#growing.get(choice);
    if (ofChoice === undefined) this.#growing.set(choice, new Map([[key, growing]]));
    else ofChoice.set(key, growing);
    return growing;
  }

  /** Adds to a text, and returns the characters that may be sent now. */
  #grow(growing: GrowingText, text: string): string {
    const shown = growing.text.push(this.#mask.content(text));
    if (growing.text.pending === "") {
      this.#holding.delete(growing);
      return shown;
    }
    if (this.#holding.has(growing) || this.#holding.size < MAX_HOLDING) {
      this.#holding.add(growing);
      return shown;
    }
    growing.text.release(true);
    return shown + MASK;
  }

  /** Releases texts that are hardly a secret, since another text of their choice continues. */
  #releaseHarmless(choice: number, except: GrowingText | undefined, out: StreamPart[]): void {
    for (const growing of this.#holding) {
      if (growing === except || growing.choice !== choice) continue;
      if (growing.text.depth <= RELEASABLE_LENGTH) out.push(this.#release(growing, false));
    }
  }

  /** Releases all texts of a choice, since they have ended. */
  #releaseChoice(choice: number, out: StreamPart[]): void {
    for (const growing of this.#holding)
      if (growing.choice === choice) out.push(this.#release(growing, true));
  }

  #release(growing: GrowingText, isOver: boolean): StreamPart {
    this.#holding.delete(growing);
    return growing.partOf(growing.text.release(isOver));
  }
}

type Place = Pick<RawPart, "at" | "choice" | "index">;

/** Copies a part with a changed text. Its event and its tokens are left out, since they hold the old text. */
function withText<P extends StreamPart>(part: P, text: string, logprobs: unknown): P {
  const { source: _, logprobs: __, ...rest } = part as P & { logprobs?: unknown };
  return { ...rest, text, ...(logprobs != null && { logprobs }) } as unknown as P;
}

/** Builds the members that have the text at a path such as `.a[0].b`. */
function membersAt(path: string, text: string): JsonMembers {
  const steps = path.match(/\.[^.[]+|\[\d+\]/g) ?? [];
  let value: unknown = text;
  for (const step of steps.reverse())
    value = step.startsWith("[") ? [value] : { [step.slice(1)]: value };
  return isObject(value) ? value : {};
}
