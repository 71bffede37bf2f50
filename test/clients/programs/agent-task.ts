/** The task of an agent: run two commands, one after the other, and say that it is done. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Script, View } from "../../support/upstreams/dialect.ts";
import type { ClientProgram, Model, Outcome } from "./program.ts";

export const PROMPT = "Write a greeting into a file and read it.";
const GREETING = "greeting-of-portico";
const COMMANDS = [`echo ${GREETING} > greeting.txt`, "cat greeting.txt"];
const END = "The file holds the greeting.";

type Call = NonNullable<Script["calls"]>[number];

/** The call that runs a command, with one of the tools that the program offers; `undefined` where it offers none. */
export type CallFor = (command: string, view: View, place: { dir: string }) => Call | undefined;

/** One command after another, then the end. Requests without tools (for a title) get a text. */
function runCommands(callFor: CallFor): Model {
  return ({ view, seen }, place) => {
    const done = view.turns.flatMap(({ results }) => results).length;
    const command = COMMANDS[done];
    const call = command === undefined ? undefined : callFor(command, view, place);
    const reasoning = thinksAloud(seen.body) ? { reasoning: "I run a command." } : {};
    if (call === undefined) return { answer: { ...reasoning, text: [END] } };
    return { answer: { ...reasoning, calls: [{ id: `call_${done}`, ...call }] } };
  };
}

/** Whether a request, in the format of Anthropic or Gemini, asks for the model's thoughts. */
function thinksAloud(body: any): boolean {
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

/** What the programs that run commands have in common. */
export function agentTask(callFor: CallFor): Pick<ClientProgram, "act" | "findFault"> {
  return { act: runCommands(callFor), findFault };
}

/** The first of these tools that the program offers; upstreams may know it by a longer name. */
export function toolNamed(view: View, ...names: string[]): string | undefined {
  return names.find((name) => view.tools.includes(name));
}

/** For programs with one tool that takes a command. */
export function commandTool(name: string, more: Record<string, unknown> = {}): CallFor {
  return (command, view) =>
    toolNamed(view, name) === undefined ? undefined : { name, args: { command, ...more } };
}
