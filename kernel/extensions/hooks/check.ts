/** Says everything that is wrong with one hook directory, without making it active. */
import type { Problem, HookCheckReport } from "../../contract/management.ts";
import type { EventSpec } from "../../types.ts";
import type { Loader } from "../load/load.ts";
import { problemOf } from "../problem.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { describeEvent } from "./calls/describe-event.ts";
import { endVersion, loadHook } from "./version.ts";

export interface CheckParts {
  loader: Loader;
  specs: ReadonlyMap<string, EventSpec>;
  permission: Pick<Permission, "missing" | "mayRun">;
}

/** Front matter, events, requirements, safety, compilation and shape. Calls nothing in the handler's module but its `dispose`. */
export async function checkCandidate(candidate: HookCandidate, parts: CheckParts): Promise<HookCheckReport> {
  const problems: Problem[] = [];
  const descriptor = `${candidate.realDir}/HOOK.md`;
  if (candidate.refused) problems.push({ message: `refused: ${candidate.refused}`, file: candidate.dir });
  if (candidate.problem) problems.push(candidate.problem);
  const events = candidate.meta?.events ?? [];
  for (const event of events) {
    const { known, didYouMean } = describeEvent(event, parts.specs);
    if (known) continue;
    const message = `nobody emits ${event}${didYouMean ? `; did you mean ${didYouMean}?` : ""}`;
    problems.push({ message, file: descriptor, line: lineOf(candidate.text, event) });
  }
  for (const message of parts.permission.missing(candidate.name, candidate))
    problems.push({
      message: `it cannot run here: ${message}`,
      file: descriptor,
      line: lineOf(candidate.text, "requires"),
    });
  if (!parts.permission.mayRun(candidate)) {
    // Nothing of it may be evaluated.
    const message = `its content is not approved, so its code was not run: look at it, then \`portico hooks approve ${candidate.name}\``;
    problems.push({ message, file: candidate.dir });
  } else if (!candidate.refused && !candidate.problem) {
    try {
      await endVersion(await loadHook(candidate, parts.loader));
    } catch (thrown) {
      problems.push(problemOf(thrown, candidate.realDir, candidate.handler));
    }
  }
  const { name, dir } = candidate;
  const unjudged = candidate.meta?.failClosed
    ? events.filter((event) => parts.specs.get(event)?.mode === "notify")
    : [];
  const hints = unjudged.map((event) => `failClosed has no effect on ${event}, for nothing waits for its handlers`);
  const warnings = [...candidate.warnings, ...hints];
  return { name, dir, ok: problems.length === 0, problems, warnings, events };
}

function lineOf(text: string, word: string): number {
  const at = text.indexOf(word);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}
