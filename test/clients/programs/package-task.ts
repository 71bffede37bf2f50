/** The task of a package: a script in `scripts/` that calls it in every way that matters, and reports each check. */
import { join } from "node:path";
import type { ClientProgram, Model, Outcome, Place, WayIn } from "./program.ts";

const WORDS = ["Hel", "lo"];

/** Answers by what the last message of the user asks for. */
const act: Model = ({ view }) => {
  if (view.model.includes("no-such-model")) return { refuse: "model" };
  const asked = view.turns.findLast(({ role, text }) => role === "user" && text !== "")?.text ?? "";
  if (asked.includes("context length")) return { refuse: "context_length" };
  if (asked.includes("rate limit")) return { refuse: "rate_limit" };
  const results = view.turns.flatMap((turn) => turn.results);
  if (results.length > 0) return { answer: { text: [results.map(textOf).join(" and ")] } };
  if (view.tools.length === 0 || !asked.includes("weather")) return { answer: { text: WORDS } };
  const calls = ["Rome", "Oslo"].map((city) => ({ name: "get_weather", args: { city } }));
  return { answer: { calls } };
};

/** Upstreams differ in whether a result is a text, a list of parts or an object. */
function textOf({ text }: { text: unknown }): string {
  const found = /sunny in \w+/.exec(JSON.stringify(text));
  return found?.[0] ?? JSON.stringify(text);
}

/** A script prints `ok: CHECK` and `FAULT: CHECK: why`, and `done` at its end. */
function findFault({ output }: Outcome): string | undefined {
  const faults = [...output.matchAll(/^FAULT: ([^:]+)/gm)].map(([, check]) => check);
  if (faults.length > 0) return faults.join(", ");
  return /^done$/m.test(output) ? undefined : "the script's end";
}

/** A script in Python or JavaScript that uses a package. */
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

/** JavaScript finds its packages from the file's own place, so the scripts are copied beside them (see `install.ts`). */
function javascript(script: string, { cache }: Place) {
  return { command: process.execPath, args: [join(cache, "scripts", script)] };
}
