/** Computes the result of a change to the file's text, and checks it before anything is written. */
import { formatKeyPath, isAtOrBelow } from "../text/key-path.ts";
import { type Assessment, assess } from "./assess.ts";
import { ConfigError, type ConfigProblem, describeWithoutPlace } from "./config-error.ts";
import {
  applyEdit,
  type ConfigEdit,
  isRemoval,
  refuseLostEntries,
  refuseWholeMaps,
} from "./edits.ts";
import { errors } from "./errors.ts";
import type { Evaluation } from "./active.ts";
import { evaluate, explainUnknown } from "./evaluate.ts";
import { computeVersion } from "./history.ts";
import { type ConfigOptions, type Reading, read, type Source, readVariables } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

/** A change of the text: edits of keys, or a replacement of the whole text. */
export type TextChange =
  | { edits: readonly ConfigEdit[] }
  | { text: string; restored?: number | undefined };

export interface PlanOptions {
  /** The versions of the file to which the change may be applied; any if absent. */
  expected?: readonly string[] | undefined;
  /** Accepts parts that a start would leave out, which the status names. Only violations of a schema are refused. */
  mayLeaveOut?: boolean | undefined;
  /** Allows the removal of a whole map by its key, which only a person who typed that key may do. */
  mayRemoveMaps?: boolean | undefined;
}

/** The file to change. */
interface Target {
  options: ConfigOptions;
  /** The file's name, for messages. */
  name: string;
  sections: SectionRegistry;
}

export interface ChangePlan {
  before: Reading;
  after: Reading;
}

const NO_FAULTS: Assessment = { faults: [], unchecked: new Set() };

/** Plans a change. Throws if the text is not an expected version, or if the change would cause a problem. */
export async function planChange(
  text: string | undefined,
  change: TextChange,
  options: PlanOptions,
  target: Target,
): Promise<ChangePlan> {
  const source: Source = { text, variables: readVariables(target.options) };
  checkVersion(text, options.expected);
  const plan =
    "edits" in change
      ? planEdits(source, change.edits, options, target)
      : planReplacement(source, change.text, target);
  await checkPlan(plan, options, target);
  return plan;
}

export function isUnchanged({ before, after }: ChangePlan): boolean {
  return (before.source.text ?? "") === (after.source.text ?? "");
}

function checkVersion(text: string | undefined, expected: readonly string[] | undefined): void {
  const version = computeVersion(text);
  if (expected === undefined || expected.includes("*") || expected.includes(version)) return;
  throw errors.changedMeanwhile({ details: { version } });
}

function planReplacement(source: Source, text: string, { options }: Target): ChangePlan {
  return {
    before: readTolerantly(source, options),
    after: read({ ...source, text }, options),
  };
}

/** Reads a text that will be replaced as a whole, and which may therefore be invalid. */
function readTolerantly(source: Source, options: ConfigOptions): Reading {
  try {
    return read(source, options);
  } catch (error) {
    if (!(error instanceof ConfigError) || source.variables instanceof Error) throw error;
    return { ...read({ ...source, text: "" }, options), source };
  }
}

function planEdits(
  source: Source,
  edits: readonly ConfigEdit[],
  { mayRemoveMaps }: PlanOptions,
  { options, name, sections }: Target,
): ChangePlan {
  const schema = sections.composed;
  const before = read(source, options);
  if (!mayRemoveMaps) refuseWholeMaps(before.raw, edits, schema);
  let after = before;
  for (const edit of edits) {
    const unknown = isRemoval(edit) ? undefined : explainUnknown(edit.path, schema);
    if (unknown) throw new ConfigError([unknown], name);
    const text = applyEdit(after.source.text ?? "", edit, after);
    after = read({ ...after.source, text }, options);
  }
  refuseLostEntries(before.raw, after.raw, edits, schema);
  return { before, after };
}

/** Throws a `ConfigError` for new problems. Existing problems must not prevent a repair, so they are ignored. */
async function checkPlan(
  plan: ChangePlan,
  planOptions: PlanOptions,
  target: Target,
): Promise<void> {
  const { options, name, sections } = target;
  const oldEvaluation = evaluate(plan.before, sections.composed);
  const newEvaluation = evaluate(plan.after, sections.composed);
  const runChecks = async (reading: Reading, evaluated: Evaluation, passOver?: Set<string>) =>
    planOptions.mayLeaveOut ? NO_FAULTS : assess(reading, evaluated, sections, options, passOver);
  const oldFaults = await runChecks(plan.before, oldEvaluation);
  const { faults } = await runChecks(plan.after, newEvaluation, oldFaults.unchecked);
  const knownProblems = new Set(
    [...oldEvaluation.problems(), ...oldFaults.faults].map(describeWithoutPlace),
  );
  const unsetPaths = options.unsetAllowed ? listUnsetPaths(newEvaluation) : [];
  const isAboutUnset = ({ key }: ConfigProblem) =>
    unsetPaths.some((path) => isAtOrBelow(path, key));
  const problems = [...newEvaluation.problems(), ...faults].filter(
    (problem) => !knownProblems.has(describeWithoutPlace(problem)) && !isAboutUnset(problem),
  );
  if (problems.length > 0) throw new ConfigError(problems, name);
}

function listUnsetPaths({ references }: Evaluation): string[] {
  return references.filter(({ unset }) => unset.length > 0).map(({ path }) => formatKeyPath(path));
}
