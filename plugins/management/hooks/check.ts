/** Finds all problems of a hook: in its front matter, events, requirements, permissions and code. */
import type { EventOutline, HookInfo, IgnoredEffect, Problem } from "portico";
import { describeEvent } from "./record.ts";

export interface HookCheckReport {
  name: string;
  dir: string;
  ok: boolean;
  /** Problems that keep the hook from running as intended. */
  problems: Problem[];
  /** Oddities that do no harm. */
  warnings: readonly string[];
  events: string[];
}

/** Checks a hook. Loads the handler's module if the hook is approved, and calls nothing in it but its `dispose`. */
export async function checkHook(
  hook: HookInfo,
  declared: ReadonlyMap<string, Pick<EventOutline, "mode">>,
): Promise<HookCheckReport> {
  const { name, dir, descriptor: file, text } = hook;
  const events = hook.meta?.events ?? [];
  const problems: Problem[] = [];
  if (hook.refused) problems.push({ message: `refused: ${hook.refused}`, file: dir });
  if (hook.problem) problems.push(hook.problem);
  for (const { name: event, known, didYouMean } of events.map((event) =>
    describeEvent(event, declared),
  )) {
    const suggestion = didYouMean ? `; did you mean ${didYouMean}?` : "";
    if (!known)
      problems.push({
        message: `no plugin emits ${event}${suggestion}`,
        file,
        line: findLine(text, event),
      });
  }
  for (const message of hook.missing())
    problems.push({
      message: `it cannot run here: ${message}`,
      file,
      line: findLine(text, "requires"),
    });
  if (!hook.isApproved()) {
    const message = `its content is not approved, so its code was not run: review it, then \`portico hooks approve ${name}\``;
    problems.push({ message, file: dir });
  } else if (!hook.refused && !hook.problem) {
    const problem = await hook.load();
    if (problem) problems.push(problem);
  }
  const notifyOnly = hook.meta?.failClosed
    ? events.filter((event) => declared.get(event)?.mode === "notify")
    : [];
  const hints = notifyOnly.map(
    (event) =>
      `failClosed has no effect on ${event}, because the gateway does not wait for handlers of this event`,
  );
  return {
    name,
    dir,
    ok: problems.length === 0,
    problems,
    warnings: [...hook.warnings, ...hints, ...hook.health.ignored.map(describeIgnored)],
    events,
  };
}

const describeIgnored = ({ event, message, count }: IgnoredEffect): string =>
  `on ${event}, ${count} ${count === 1 ? "time" : "times"}: ${message}`;

function findLine(text: string, word: string): number {
  const at = text.indexOf(word);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}
