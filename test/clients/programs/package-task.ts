/** The task of a package: a script in `scripts/` calls it in every relevant way, and reports each check. */
import { join } from "node:path";
import type { ClientProgram, Model, Outcome, Place, WayIn } from "./program.ts";

const WORDS = ["Hel", "lo"];

/** Answers according to the last message of the user. */
const act: Model = ({ view }) => {
  if (view.model.includes("no-such-model")) return { refuse: "model" };
  const question =
    view.turns.findLast(({ role, text }) => role === "user" && text !== "")?.text ?? "";
  if (question.includes("context length")) return { refuse: "context_length" };
  if (question.includes("rate limit")) return { refuse: "rate_limit" };
  const results = view.turns.flatMap((turn) => turn.results);
  if (results.length > 0) return { answer: { text: [results.map(textOf).join(" and ")] } };
  if (view.tools.length === 0 || !question.includes("weather")) return { answer: { text: WORDS } };
  const calls = ["Rome", "Oslo"].map((city) => ({ name: "get_weather", args: { city } }));
  return { answer: { calls } };
};

/** Returns the text of a result, which is a string, a list of parts or an object, depending on the upstream. */
function textOf({ text }: { text: unknown }): string {
  const match = /sunny in \w+/.exec(JSON.stringify(text));
  return match?.[0] ?? JSON.stringify(text);
}

/** Finds faults in a script's output: lines `ok: CHECK` and `FAULT: CHECK: reason`, and `done` at the end. */
function findFault({ output }: Outcome): string | undefined {
  const faults = [...output.matchAll(/^FAULT: ([^:]+)/gm)].map(([, check]) => check);
  if (faults.length > 0) return faults.join(", ");
  return /^done$/m.test(output) ? undefined : "the script's end";
}

/** Creates the program for a Python or JavaScript script that uses a package. */
export function packageTask(
  script: string,
  name: string,
  wayIn: WayIn,
  packages: ClientProgram["packages"],
): ClientProgram {
  const registry = script.endsWith(".py") ? "pip" : "npm";
  const start = (place: Place) => ({
    ...(registry === "pip" ? python(script, place) : javascript(script, place)),
    env: {
      PORTICO_URL: place.url,
      PORTICO_TOKEN: place.token,
      PORTICO_MODEL: place.model,
      PORTICO_WAY_IN: wayIn,
      PYTHONDONTWRITEBYTECODE: "1",
    },
  });
  return { name, wayIn, packages, registry, start, act, findFault };
}

const scripts = join(import.meta.dirname, "scripts");

function python(script: string, { cache }: Place) {
  return { command: join(cache, "bin/python"), args: [join(scripts, script)] };
}

/**
 * JavaScript resolves packages from the script's own directory, so the scripts are copied next to them (see `install.ts`).
 */
function javascript(script: string, { cache }: Place) {
  return { command: process.execPath, args: [join(cache, "scripts", script)] };
}
