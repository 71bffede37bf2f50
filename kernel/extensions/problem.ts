/** What is wrong with a hook, in one line, and where. */
import { relative } from "node:path";
import { asError } from "../errors.ts";
import { Interrupted } from "./load/bounded.ts";
import { LoadError, placeOf } from "./load/load-error.ts";

/** What is wrong, in one line, and where. */
export interface Problem {
  message: string;
  file?: string;
  line?: number;
  column?: number;
}

/** An error as a problem; its place is that of the first stack frame below `dir`, else the fallback file. */
export function problemOf(thrown: unknown, dir: string, fallback?: string): Problem {
  if (thrown instanceof LoadError) {
    return { message: thrown.message, file: thrown.file ?? fallback, line: thrown.line, column: thrown.column };
  }
  const error = asError(thrown);
  if (error instanceof Interrupted) return { message: error.message, file: fallback };
  const place = placeOf(error, dir);
  const name = error.name && error.name !== "EndlessLoopError" && error.name !== "Error" ? `${error.name}: ` : "";
  return {
    message: `${name}${error.message}`,
    file: place?.file ?? fallback,
    line: place?.line,
    column: place?.column,
  };
}

/** `handler.ts:3: message`; the message alone where no place is known or the message begins with it. */
export function sayProblem(problem: Problem, dir: string): string {
  if (!problem.file || problem.line === undefined) return problem.message;
  const at = `${relative(dir, problem.file)}:${problem.line}`;
  return problem.message.startsWith(at) ? problem.message : `${at}: ${problem.message}`;
}
