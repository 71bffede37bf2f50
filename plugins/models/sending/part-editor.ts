/** `message:streaming` for the parts of a model's response. */
import { isObject, type StreamPart } from "portico/provider";
import type { Edit, FlowEditor } from "./edited-stream.ts";

/** Texts that handlers see: of a message, of a refusal in its place, of the words of a sound. */
type Spoken = Extract<StreamPart, { type: "text" | "reasoning" | "refusal" } | { type: "audio" }>;
type TextName = "content" | "refusal" | "transcript";

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
    const name = nameOf(part);
    this.#namesOf(part.choice).add(name);
    if (this.#run?.name !== name || this.#run.choice !== part.choice) {
      await this.#endRun(false);
      this.#run = { choice: part.choice, name, text: "", parts: [] };
    }
    this.#run.text += textOf(part);
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

  async #endRun(final: boolean): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    const edited = await this.#offer(run.text, final, keyOf(run.choice, run.name));
    if (edited === run.text) {
      this.#out.push(...run.parts);
      return;
    }
    const spoken = run.parts.filter(isSpoken);
    if (edited !== "" || run.name === "transcript")
      this.#out.push(withText(spoken[0]!, edited, spoken));
    this.#out.push(...run.parts.filter((part) => !isSpoken(part)));
  }

  #offer(text: string, final: boolean, of: number | string): ReturnType<Edit> {
    const isLast = final && !this.#finished.has(of);
    if (isLast) this.#finished.add(of);
    return text === "" && !isLast ? text : this.#edit(text, isLast, of);
  }

  /** The last piece of each text of the choice that has had none. */
  async #last(choice: number): Promise<void> {
    for (const name of ["content", ...this.#namesOf(choice)] as TextName[]) {
      const key = keyOf(choice, name);
      if (this.#finished.has(key)) continue;
      const rest = await this.#offer("", true, key);
      if (rest !== "") this.#out.push(partOf(choice, name, rest));
    }
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

function isSpoken(part: StreamPart): part is Spoken {
  if (part.type === "audio") return part.transcript !== "";
  return part.type === "text" || part.type === "refusal";
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

function nameOf(part: Spoken): TextName {
  if (part.type === "audio") return "transcript";
  return part.type === "refusal" ? "refusal" : "content";
}

function textOf(part: Spoken): string {
  return part.type === "audio" ? part.transcript : part.text;
}

/** What handlers know a text by. */
function keyOf(choice: number, name: TextName): number | string {
  return name === "content" ? choice : `${choice}.${name}`;
}

/** A part of the run with a text of its own. A sound would say what its words said: it goes. */
function withText(first: Spoken, text: string, run: readonly Spoken[]): StreamPart {
  if (first.type !== "audio") return partOf(first.choice, nameOf(first), text);
  const all = run.map((part) =>
    part.type === "audio" && isObject(part.members) ? part.members : {},
  );
  const members: Record<string, unknown> = Object.assign({}, ...all);
  if (members["data"] != null) members["data"] = "";
  return { type: "audio", choice: first.choice, transcript: text, members };
}

function partOf(choice: number, name: TextName, text: string): StreamPart {
  if (name === "transcript") return { type: "audio", choice, transcript: text, members: {} };
  return { type: name === "content" ? "text" : "refusal", choice, text };
}
