/** `message:streaming` for the parts of a model's response. */
import type { RawPart, StreamPart } from "portico/provider";
import type { Edit, FlowEditor } from "./edited-stream.ts";

import {
  isVisible,
  textNameOf,
  type VisiblePart,
  createVisiblePart,
  visibleText,
  withVisibleText,
} from "./visible-parts.ts";
import type { TextName } from "./chat-texts.ts";

/** Consecutive parts of one text in one read: handlers see them as one piece. */
interface Run {
  choice: number;
  name: TextName;
  text: string;
  /** Includes the invisible parts in between. */
  parts: StreamPart[];
}

export class PartEditor implements FlowEditor<StreamPart> {
  readonly #edit: Edit;
  /** Choices that have begun, each with the texts of which a piece was received. */
  readonly #choices = new Map<number, Set<TextName>>();
  /** The number of ended texts per choice and name: formats such as Responses have several. */
  readonly #endedTexts = new Map<string, number>();
  readonly #finishedKeys = new Set<number | string>();
  #run: Run | undefined;
  #out: StreamPart[] = [];

  constructor(edit: Edit) {
    this.#edit = edit;
  }

  async push(parts: readonly StreamPart[]): Promise<readonly StreamPart[]> {
    this.#out = [];
    for (const part of parts) {
      if (isVisible(part)) await this.#addVisible(part);
      else if (part.type === "raw" && part.endsText === true) await this.#endTexts(part);
      else if (isInvisible(part)) this.#addInvisible(withoutStrayTokens(part));
      else await this.#addOther(part);
    }
    await this.#endRun(false);
    return this.#out;
  }

  /** Returns what handlers still hold back of choices that never finished. */
  async end(): Promise<readonly StreamPart[]> {
    this.#out = [];
    for (const choice of this.#choices.keys()) await this.#finishChoice(choice);
    return this.#out;
  }

  async #addVisible(part: VisiblePart): Promise<void> {
    const name = textNameOf(part);
    this.#namesOf(part.choice).add(name);
    if (this.#run?.name !== name || this.#run.choice !== part.choice) {
      await this.#endRun(false);
      this.#run = { choice: part.choice, name, text: "", parts: [] };
    }
    this.#run.text += visibleText(part);
    this.#run.parts.push(part);
  }

  #addInvisible(part: StreamPart): void {
    (this.#run?.parts ?? this.#out).push(part);
  }

  async #addOther(part: StreamPart): Promise<void> {
    const isFinal = part.type === "finish" && this.#run?.choice === part.choice;
    await this.#endRun(isFinal);
    if ("choice" in part) this.#namesOf(part.choice);
    if (part.type === "finish") await this.#finishChoice(part.choice);
    this.#out.push(part);
  }

  /** Finishes the texts of the choice that have begun. */
  async #endTexts(part: RawPart): Promise<void> {
    const { choice } = part;
    await this.#endRun(this.#run?.choice === choice);
    const names = this.#namesOf(choice);
    await this.#finishTexts(choice, names);
    for (const name of names) {
      const key = `${choice}.${name}`;
      this.#endedTexts.set(key, (this.#endedTexts.get(key) ?? 0) + 1);
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
    const visibleParts = run.parts.filter(isVisible);
    if (edited !== "" || run.name === "transcript")
      this.#out.push(withVisibleText(visibleParts[0]!, edited, visibleParts));
    this.#out.push(...run.parts.filter((part) => !isVisible(part)));
  }

  #offer(text: string, final: boolean, textKey: number | string): ReturnType<Edit> {
    const isLast = final && !this.#finishedKeys.has(textKey);
    if (isLast) this.#finishedKeys.add(textKey);
    return text === "" && !isLast ? text : this.#edit(text, isLast, textKey);
  }

  /** Sends the last piece of each unfinished text of the choice. Handlers also receive an empty content. */
  async #finishChoice(choice: number): Promise<void> {
    const names = new Set(this.#namesOf(choice));
    if (!this.#endedTexts.has(`${choice}.content`)) names.add("content");
    await this.#finishTexts(choice, names);
  }

  async #finishTexts(choice: number, names: Iterable<TextName>): Promise<void> {
    for (const name of names) {
      const key = this.#keyOf(choice, name);
      if (this.#finishedKeys.has(key)) continue;
      const rest = await this.#offer("", true, key);
      if (rest !== "") this.#out.push(createVisiblePart(choice, name, rest));
    }
  }

  /** Returns the key by which handlers identify a text. */
  #keyOf(choice: number, name: TextName): number | string {
    const endedCount = this.#endedTexts.get(`${choice}.${name}`);
    if (endedCount !== undefined) return `${choice}.${name}.${endedCount}`;
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

/** Whether a part is invisible to a reader and ends no piece of text. */
function isInvisible(part: StreamPart): boolean {
  return (
    part.type === "comment" || part.type === "raw" || part.type === "start" || part.type === "usage"
  );
}

/** Removes tokens without a text: handlers could not see their content. */
function withoutStrayTokens(part: StreamPart): StreamPart {
  if (part.type !== "raw" || part.at !== "choice" || part.members["logprobs"] == null) return part;
  const { logprobs: _, ...members } = part.members;
  return { ...part, members, source: undefined };
}
