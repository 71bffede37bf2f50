/** The task of an agent: to run two commands, one after another, and report that it is done. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Script, View } from "../../support/upstreams/dialect.ts";
import type { ClientProgram, Model, Outcome } from "./program.ts";

export const PROMPT = "Write a greeting into a file and read it.";
const GREETING = "greeting-of-portico";
const COMMANDS = [`echo ${GREETING} > greeting.txt`, "cat greeting.txt"];
const END = "The file holds the greeting.";

type Call = NonNullable<Script["calls"]>[number];

/** Returns the call that runs a command with one of the program's tools, or `undefined` if it offers none. */
export type CallFor = (command: string, view: View, place: { dir: string }) => Call | undefined;

/** Calls one command after another, then ends. Requests without tools (for a title) receive a text. */
function runCommands(callFor: CallFor): Model {
  return ({ view, seen }, place) => {
    const done = view.turns.flatMap(({ results }) => results).length;
    const command = COMMANDS[done];
    const call = command === undefined ? undefined : callFor(command, view, place);
    const reasoning = requestsThinking(seen.body) ? { reasoning: "I run a command." } : {};
    if (call === undefined) return { answer: { ...reasoning, text: [END] } };
    return { answer: { ...reasoning, calls: [{ id: `call_${done}`, ...call }] } };
  };
}

/** True if a request in Anthropic's or Gemini's format asks for the model's thoughts. */
function requestsThinking(body: any): boolean {
  const kind = body.thinking?.type;
  if (kind === "enabled" || kind === "adaptive") return true;
  return body.generationConfig?.thinkingConfig?.includeThoughts === true;
}

function findFault({ output, place, up }: Outcome): string | undefined {
  const file = join(place.dir, "greeting.txt");
  if (!existsSync(file) || !readFileSync(file, "utf8").includes(GREETING)) return "the first call";
  // The last request may be one for a title.
  const turns = up.views.flatMap((view) => view.turns);
  const results = JSON.stringify(turns.map((turn) => turn.results));
  if (!results.includes(GREETING)) return "the second call";
  return output.includes(END) ? undefined : "the end";
}

/** Returns the common parts of programs that run commands. */
export function agentTask(callFor: CallFor): Pick<ClientProgram, "act" | "findFault"> {
  return { act: runCommands(callFor), findFault };
}

/** Returns the first of these tools that the program offers. */
export function toolNamed(view: View, ...names: string[]): string | undefined {
  return names.find((name) => view.tools.includes(name));
}

/** Returns a `CallFor` for programs with one tool that accepts a command. */
export function commandTool(name: string, more: Record<string, unknown> = {}): CallFor {
  return (command, view) =>
    toolNamed(view, name) === undefined ? undefined : { name, args: { command, ...more } };
}
