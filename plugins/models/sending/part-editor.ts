/** `message:streaming` for the parts of a model's response. */
import type { RawPart, StreamPart } from "portico/provider";
import type { Edit, FlowEditor } from "./edited-stream.ts";

import {
  isSpoken,
  nameOfSpoken,
  type Spoken,
  spokenPart,
  spokenText,
  withSpokenText,
} from "./spoken-parts.ts";
import type { TextName } from "./chat-texts.ts";

/** Parts of one text that follow each other in one read: they are one piece to the handlers. */
interface Run {
  choice: number;
  name: TextName;
  text: string;
  /** With what says nothing to a reader and came in between. */
  parts: StreamPart[];
}

export class PartEditor implements FlowEditor<StreamPart> {
  readonly #edit: Edit;
  /** Choices that have begun, with the texts that each has had a piece of. */
  readonly #choices = new Map<number, Set<TextName>>();
  /** How many texts of a choice and name have ended: formats such as Responses know several. */
  readonly #ended = new Map<string, number>();
  readonly #finished = new Set<number | string>();
  #run: Run | undefined;
  #out: StreamPart[] = [];

  constructor(edit: Edit) {
    this.#edit = edit;
  }

  async push(parts: readonly StreamPart[]): Promise<readonly StreamPart[]> {
    this.#out = [];
    for (const part of parts) {
      if (isSpoken(part)) await this.#speak(part);
      else if (part.type === "raw" && part.endsText === true) await this.#endTexts(part);
      else if (isSilent(part)) this.#pass(withoutStrayTokens(part));
      else await this.#other(part);
    }
    await this.#endRun(false);
    return this.#out;
  }

  /** What handlers still hold back of choices that never finished. */
  async end(): Promise<readonly StreamPart[]> {
    this.#out = [];
    for (const choice of this.#choices.keys()) await this.#last(choice);
    return this.#out;
  }

  async #speak(part: Spoken): Promise<void> {
    const name = nameOfSpoken(part);
    this.#namesOf(part.choice).add(name);
    if (this.#run?.name !== name || this.#run.choice !== part.choice) {
      await this.#endRun(false);
      this.#run = { choice: part.choice, name, text: "", parts: [] };
    }
    this.#run.text += spokenText(part);
    this.#run.parts.push(part);
  }

  #pass(part: StreamPart): void {
    (this.#run?.parts ?? this.#out).push(part);
  }

  async #other(part: StreamPart): Promise<void> {
    const ends = part.type === "finish" && this.#run?.choice === part.choice;
    await this.#endRun(ends);
    if ("choice" in part) this.#namesOf(part.choice);
    if (part.type === "finish") await this.#last(part.choice);
    this.#out.push(part);
  }

  /** The texts of the choice that have begun are complete. */
  async #endTexts(part: RawPart): Promise<void> {
    const { choice } = part;
    await this.#endRun(this.#run?.choice === choice);
    const names = this.#namesOf(choice);
    await this.#finish(choice, names);
    for (const name of names) {
      const key = `${choice}.${name}`;
      this.#ended.set(key, (this.#ended.get(key) ?? 0) + 1);
    }
    names.clear();
    this.#out.push(part);
  }

  async #endRun(final: boolean): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    const edited = await this.#offer(run.text, final, this.#keyOf(run.choice, run.name));
    if (edited === run.text) {
      this.#out.push(...run.parts);
      return;
    }
    const spoken = run.parts.filter(isSpoken);
    if (edited !== "" || run.name === "transcript")
      this.#out.push(withSpokenText(spoken[0]!, edited, spoken));
    this.#out.push(...run.parts.filter((part) => !isSpoken(part)));
  }

  #offer(text: string, final: boolean, of: number | string): ReturnType<Edit> {
    const isLast = final && !this.#finished.has(of);
    if (isLast) this.#finished.add(of);
    return text === "" && !isLast ? text : this.#edit(text, isLast, of);
  }

  /** The last piece of each text of the choice that has had none. Handlers hear of a content that is empty, too. */
  async #last(choice: number): Promise<void> {
    const names = new Set(this.#namesOf(choice));
    if (!this.#ended.has(`${choice}.content`)) names.add("content");
    await this.#finish(choice, names);
  }

  async #finish(choice: number, names: Iterable<TextName>): Promise<void> {
    for (const name of names) {
      const key = this.#keyOf(choice, name);
      if (this.#finished.has(key)) continue;
      const rest = await this.#offer("", true, key);
      if (rest !== "") this.#out.push(spokenPart(choice, name, rest));
    }
  }

  /** What handlers know a text by. */
  #keyOf(choice: number, name: TextName): number | string {
    const ended = this.#ended.get(`${choice}.${name}`);
    if (ended !== undefined) return `${choice}.${name}.${ended}`;
    return name === "content" ? choice : `${choice}.${name}`;
  }

  #namesOf(choice: number): Set<TextName> {
    let names = this.#choices.get(choice);
    if (names === undefined) {
      names = new Set();
      this.#choices.set(choice, names);
    }
    return names;
  }
}

/** Says nothing to a reader, and ends no piece of text. */
function isSilent(part: StreamPart): boolean {
  return (
    part.type === "comment" || part.type === "raw" || part.type === "start" || part.type === "usage"
  );
}

/** Tokens without the text that they are the tokens of: handlers could not see what they say. */
function withoutStrayTokens(part: StreamPart): StreamPart {
  if (part.type !== "raw" || part.at !== "choice" || part.members["logprobs"] == null) return part;
  const { logprobs: _, ...members } = part.members;
  return { ...part, members, source: undefined };
}
