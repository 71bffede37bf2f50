/** A client program that the runner installs and gives a task, and the model's side of that task. */
import type { SeenRequest, View } from "../../support/upstreams/dialect.ts";
import type { FakeProvider, Step } from "../../support/upstreams/server.ts";

export interface Place {
  /** Of the gateway, without a path. */
  url: string;
  token: string;
  /** The name that the program asks for. */
  model: string;
  /** Where the program works. */
  dir: string;
  /** For its configuration. */
  home: string;
  /** Where its packages are installed. */
  cache: string;
}

interface Start {
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Files that the program reads, by their paths. */
  files?: Record<string, string>;
}

export type WayIn = "/v1/chat/completions" | "/v1/messages" | "/v1/responses";

/** What the upstream's model does with a request. */
export type Model = (request: { view: View; seen: SeenRequest }, place: { dir: string }) => Step;

/** What a run leaves behind. */
export interface Outcome {
  output: string;
  place: Place;
  up: FakeProvider;
}

export interface ClientProgram {
  name: string;
  /** What differs from the program's plain task, in a few words: "two rate limits". */
  variant?: string;
  /** What is installed, with pinned versions; the first one is the program. */
  packages: readonly [string, ...string[]];
  registry: "npm" | "pip";
  wayIn: WayIn;
  /** The name that the program asks for, where it knows more of some models; an alias of the gateway. */
  model?: string;
  start(place: Place): Start;
  act: Model;
  /** What went wrong, in a few words; `undefined` where the task is done. */
  findFault(outcome: Outcome): string | undefined;
}

/** Returns the name of the program, with that of its variant. */
export function labelOf({ name, variant }: ClientProgram): string {
  return variant === undefined ? name : `${name}, ${variant}`;
}
