/** Says everything that is wrong with one hook: front matter, events, requirements, safety, code and its shape. */
import type { EventOutline, HookOnDisk, Problem } from "portico";

export interface HookCheckReport {
  name: string;
  dir: string;
  ok: boolean;
  /** What keeps it from running as it should. */
  problems: Problem[];
  /** What is odd but harmless. */
  warnings: readonly string[];
  events: string[];
}

/** Calls nothing in the handler's module but its `dispose`; where it is not approved, not even that. */
export async function checkHook(
  hook: HookOnDisk,
  declared: (event: string) => Pick<EventOutline, "mode"> | undefined,
): Promise<HookCheckReport> {
  const { name, dir, descriptor: file, text } = hook;
  const problems: Problem[] = [];
  if (hook.refused) problems.push({ message: `refused: ${hook.refused}`, file: dir });
  if (hook.problem) problems.push(hook.problem);
  for (const { name: event, known, didYouMean } of hook.events) {
    const near = didYouMean ? `; did you mean ${didYouMean}?` : "";
    if (!known) problems.push({ message: `nobody emits ${event}${near}`, file, line: lineOf(text, event) });
  }
  for (const message of hook.missing)
    problems.push({ message: `it cannot run here: ${message}`, file, line: lineOf(text, "requires") });
  if (!hook.approved) {
    const message = `its content is not approved, so its code was not run: look at it, then \`portico hooks approve ${name}\``;
    problems.push({ message, file: dir });
  } else if (!hook.refused && !hook.problem) {
    const problem = await hook.load();
    if (problem) problems.push(problem);
  }
  const events = hook.events.map((event) => event.name);
  const unjudged = hook.failClosed ? events.filter((event) => declared(event)?.mode === "notify") : [];
  const hints = unjudged.map((event) => `failClosed has no effect on ${event}, for nothing waits for its handlers`);
  return { name, dir, ok: problems.length === 0, problems, warnings: [...hook.warnings, ...hints], events };
}

function lineOf(text: string, word: string): number {
  const at = text.indexOf(word);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}
