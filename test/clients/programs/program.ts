/** A client program that the runner installs and gives a task. */
import type { Script, View } from "../../support/upstreams/dialect.ts";

export interface Place {
  /** Of the gateway, without a path. */
  url: string;
  token: string;
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
  env: Record<string, string>;
}

export interface ClientProgram {
  name: string;
  /** What is installed, with pinned versions. */
  packages: readonly string[];
  /** Its way in is `POST /v1/responses`. */
  speaksResponses: boolean;
  /** The name that the program asks for, where it knows more of some models; an alias of the gateway. */
  model?: string;
  start(place: Place): Start;
  /** The call that a model makes to run a command, with one of the tools that the program offers. */
  callFor(
    command: string,
    view: View,
    place: Pick<Place, "dir">,
  ): NonNullable<Script["calls"]>[number] | undefined;
}

/** The first of these tools that the program offers; upstreams may know it by a longer name. */
export function toolNamed(view: View, ...names: string[]): string | undefined {
  return names.find((name) => view.tools.includes(name));
}
