/** A client program that the runner installs and runs with a task, and the model's side of that task. */
import type { SeenRequest, View } from "../../support/upstreams/dialect.ts";
import type { FakeProvider, Step } from "../../support/upstreams/server.ts";

export interface Place {
  /** The gateway's address without a path. */
  url: string;
  token: string;
  /** The name of the model that the program requests. */
  model: string;
  /** The program's working directory. */
  dir: string;
  /** The directory of its configuration. */
  home: string;
  /** The directory in which its packages are installed. */
  cache: string;
}

interface Start {
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Files that the program reads, by path. */
  files?: Record<string, string>;
}

export type WayIn = "/v1/chat/completions" | "/v1/messages" | "/v1/responses";

/** Returns the reaction of the upstream's model to a request. */
export type Model = (request: { view: View; seen: SeenRequest }, place: { dir: string }) => Step;

/** The result of a run. */
export interface Outcome {
  output: string;
  place: Place;
  up: FakeProvider;
}

export interface ClientProgram {
  name: string;
  /** The difference from the program's plain task, in a few words: "two rate limits". */
  variant?: string;
  /** The packages to install, with pinned versions. The first one is the program. */
  packages: readonly [string, ...string[]];
  registry: "npm" | "pip";
  wayIn: WayIn;
  /** The name of the model that the program requests, if it treats some models specially. It is an alias in the gateway. */
  model?: string;
  start(place: Place): Start;
  act: Model;
  /** Returns the fault in a few words, or `undefined` if the task is done. */
  findFault(outcome: Outcome): string | undefined;
}

/** Returns the name of the program, with that of its variant. */
export function labelOf({ name, variant }: ClientProgram): string {
  return variant === undefined ? name : `${name}, ${variant}`;
}
