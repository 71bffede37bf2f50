/** Says everything that is wrong with one hook directory, without putting it in force. */
import type { Loader } from "../extensions/load.ts";
import type { EventSpec } from "../types.ts";
import { endVersion, loadVersion } from "./in-force/activation.ts";
import type { Candidate } from "./on-disk/candidate.ts";
import { describeEvent } from "./describe.ts";
import { type Problem, problemOf } from "./problem.ts";

export interface CheckReport {
  name: string;
  dir: string;
  ok: boolean;
  /** What keeps it from running as it should. */
  problems: Problem[];
  /** What is odd but harmless. */
  warnings: string[];
  events: string[];
}

/** Front matter, events, safety, compilation and shape. Evaluates the handler's module, and calls nothing in it but its `dispose`. */
export async function checkCandidate(
  candidate: Candidate,
  loader: Loader,
  specs: ReadonlyMap<string, EventSpec>,
): Promise<CheckReport> {
  const problems: Problem[] = [];
  if (candidate.refused) problems.push({ message: `refused: ${candidate.refused}`, file: candidate.dir });
  if (candidate.problem) problems.push(candidate.problem);
  const events = candidate.meta?.events ?? [];
  for (const event of events) {
    const { known, didYouMean } = describeEvent(event, specs);
    if (known) continue;
    const message = `nobody emits ${event}${didYouMean ? `; did you mean ${didYouMean}?` : ""}`;
    problems.push({ message, file: `${candidate.dir}/HOOK.md`, line: lineOf(candidate.text, event) });
  }
  if (!candidate.refused && !candidate.problem) {
    try {
      const error = await endVersion(await loadVersion(candidate, loader));
      if (error) throw error;
    } catch (thrown) {
      problems.push(problemOf(thrown, candidate.realDir, candidate.handler));
    }
  }
  const { name, dir, warnings } = candidate;
  return { name, dir, ok: problems.length === 0, problems, warnings, events };
}

function lineOf(text: string, word: string): number {
  const at = text.indexOf(word);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}
