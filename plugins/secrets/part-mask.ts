/**
 * Hides secrets in the parts of a stream, also where one is spread over many of them. A text that may be about to say a
 * secret is held back; everything else passes as the very same part.
 */
import type { RawPart, StreamPart } from "portico/provider";
import { isObject, type JsonMembers } from "portico/provider";
import { MASK } from "portico";
import { HeldText } from "./held-text.ts";
import type { SecretMask } from "./secret-mask.ts";

/** No honest stream has so many texts that may be about to say a secret. */
const MOST_HELD = 64;
/** So much of a secret goes out where another text of its choice goes on: it may be any word. */
const ASIDE = 6;
/** Members that say something by themselves: such a text is not spread over events. */
const WHOLE = new Set(["role", "type", "id", "name", "signature"]);

/** A part that continues a text of its choice. */
type SpokenPart = Extract<
  StreamPart,
  { type: "text" | "reasoning" | "refusal" | "tool-arguments" }
>;

/** A text of the stream that grows. */
interface Growing {
  readonly choice: number;
  readonly text: HeldText;
  /** The part in which the rest goes out. */
  readonly partOf: (text: string) => StreamPart;
}

export class PartMask {
  readonly #mask: SecretMask;
  /** By choice, and by what the text is. */
  readonly #growing = new Map<number, Map<string, Growing>>();
  /** Those that hold something back. */
  readonly #holding = new Set<Growing>();
  /** Members that hold no secret. */
  #harmless: JsonMembers | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  push(parts: StreamPart[]): StreamPart[] {
    const out: StreamPart[] = [];
    for (const part of parts) this.#part(part, out);
    return out;
  }

  /** What is still held back at the end. */
  end(): StreamPart[] {
    return [...this.#holding].map((growing) => this.#release(growing, true));
  }

  #part(part: StreamPart, out: StreamPart[]): void {
    switch (part.type) {
      case "text":
      case "reasoning":
      case "refusal":
      case "tool-arguments":
        this.#text(part, out);
        return;
      case "audio":
        this.#audio(part, out);
        return;
      case "finish":
        this.#releaseOthers(part.choice, undefined, out);
        out.push(part);
        return;
      case "raw":
        this.#raw(part, out);
        return;
      case "usage":
        out.push(part);
        return;
      default:
        if ("choice" in part) this.#stepAside(part.choice, undefined, out);
        out.push(this.#whole(part));
    }
  }

  #text(part: SpokenPart, out: StreamPart[]): void {
    const { type, choice } = part;
    const growing = this.#growingText(part);
    if (part.text !== "") this.#stepAside(choice, growing, out);
    const shown = this.#grow(growing, part.text);
    const logprobs = type === "tool-arguments" ? undefined : this.#hidden(part.logprobs);
    const isSame = type === "tool-arguments" || logprobs === part.logprobs;
    if (shown === part.text && isSame) out.push(part);
    else if (shown !== "")
      out.push(partLike(part, shown, shown === part.text ? logprobs : undefined));
  }

  /** The text that the part continues. */
  #growingText(part: SpokenPart): Growing {
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

  #audio(part: Extract<StreamPart, { type: "audio" }>, out: StreamPart[]): void {
    const { choice } = part;
    const partOf = (text: string): StreamPart => ({
      type: "audio",
      choice,
      transcript: text,
      members: {},
    });
    const growing = this.#find(choice, "audio") ?? this.#begin(choice, "audio", partOf);
    if (part.transcript !== "") this.#stepAside(choice, growing, out);
    const transcript = this.#grow(growing, part.transcript);
    const members = this.#leaves(part.members, { at: "delta", choice }, ".audio", out);
    const isSame = transcript === part.transcript && members === part.members;
    out.push(isSame ? part : { ...part, transcript, members, source: undefined });
  }

  #raw(part: RawPart, out: StreamPart[]): void {
    const isWhole = part.at === "chunk";
    if (part.endsText === true) this.#releaseOthers(part.choice, undefined, out);
    const members = isWhole
      ? this.#chunkMembers(part.members)
      : this.#leaves(part.members, part, "", out);
    out.push(members === part.members ? part : { ...part, members, source: undefined });
  }

  /** Most chunks of a stream have the same. */
  #chunkMembers(members: JsonMembers): JsonMembers {
    if (members === this.#harmless) return members;
    const hidden = this.#hidden(members);
    if (hidden === members) this.#harmless = members;
    return hidden;
  }

  /** A part whose texts are complete in themselves. */
  #whole(part: StreamPart): StreamPart {
    const { source, ...own } = part;
    const hidden = this.#hidden(own);
    return hidden === own ? part : hidden;
  }

  #hidden<T>(value: T): T {
    if (value == null) return value;
    return this.#mask.mayStandInText(JSON.stringify(value)) ? this.#mask.value(value) : value;
  }

  /** Members whose strings may each be a part of a longer text. */
  #leaves(members: JsonMembers, of: Place, path: string, out: StreamPart[]): JsonMembers {
    let changed = false;
    const visit = (value: unknown, at: string, key: string): unknown => {
      if (typeof value === "string") {
        const shown = this.#leaf(value, of, at, key, out);
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
    const shown = visit(this.#hidden(members), path, "") as JsonMembers;
    return changed ? shown : this.#hidden(members);
  }

  #leaf(value: string, of: Place, path: string, key: string, out: StreamPart[]): string {
    if (WHOLE.has(key)) return value;
    const { choice } = of;
    const leaf = `raw ${of.at} ${of.index ?? ""}${path}`;
    const partOf = (text: string): StreamPart => ({
      type: "raw",
      at: of.at,
      choice,
      ...(of.index !== undefined && { index: of.index }),
      members: nested(path, text),
    });
    const growing = this.#find(choice, leaf) ?? this.#begin(choice, leaf, partOf);
    if (value !== "") this.#stepAside(choice, growing, out);
    return this.#grow(growing, value);
  }

  #find(choice: number, key: string): Growing | undefined {
    return this.#growing.get(choice)?.get(key);
  }

  /** `partOf` makes the part in which a rest that was held back goes out. */
  #begin(choice: number, key: string, partOf: Growing["partOf"]): Growing {
    const growing = { choice, text: new HeldText(this.#mask.automaton), partOf };
    const ofChoice = this.#growing.get(choice);
    if (ofChoice === undefined) this.#growing.set(choice, new Map([[key, growing]]));
    else ofChoice.set(key, growing);
    return growing;
  }

  #grow(growing: Growing, text: string): string {
    const shown = growing.text.push(this.#mask.content(text));
    if (growing.text.held === "") {
      this.#holding.delete(growing);
      return shown;
    }
    if (this.#holding.has(growing) || this.#holding.size < MOST_HELD) {
      this.#holding.add(growing);
      return shown;
    }
    growing.text.release(true);
    return shown + MASK;
  }

  /** Another text of the choice continues, so a text that is unlikely to be a secret need not wait. */
  #stepAside(choice: number, except: Growing | undefined, out: StreamPart[]): void {
    for (const growing of this.#holding) {
      if (growing === except || growing.choice !== choice) continue;
      if (growing.text.depth <= ASIDE) out.push(this.#release(growing, false));
    }
  }

  #releaseOthers(choice: number, except: Growing | undefined, out: StreamPart[]): void {
    for (const growing of this.#holding)
      if (growing !== except && growing.choice === choice) out.push(this.#release(growing, true));
  }

  #release(growing: Growing, over: boolean): StreamPart {
    this.#holding.delete(growing);
    return growing.partOf(growing.text.release(over));
  }
}

type Place = Pick<RawPart, "at" | "choice" | "index">;

/** A part with a changed text. Neither its event nor its tokens may go out, since they hold the old text. */
function partLike<P extends StreamPart>(part: P, text: string, logprobs: unknown): P {
  const { source: _, logprobs: __, ...rest } = part as P & { logprobs?: unknown };
  return { ...rest, text, ...(logprobs != null && { logprobs }) } as unknown as P;
}

/** `.a[0].b` with a text at its end. */
function nested(path: string, text: string): JsonMembers {
  const steps = path.match(/\.[^.[]+|\[\d+\]/g) ?? [];
  let value: unknown = text;
  for (const step of steps.reverse())
    value = step.startsWith("[") ? [value] : { [step.slice(1)]: value };
  return isObject(value) ? value : {};
}
