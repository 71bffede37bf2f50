import { PorticoError } from "../errors.ts";

/** One problem of the configuration. */
export interface ConfigProblem {
  /** The key as people write it (`gateway.port`); empty for the file as a whole. */
  key: string;
  message: string;
  /** Counted from 1. Absent if the line is unknown. */
  line?: number | undefined;
  column?: number | undefined;
  /** The known key that was probably meant. */
  nearest?: string | undefined;
  /** Other advice on how to fix it. */
  hint?: string | undefined;
}

/** The configuration cannot be used. The message names every problem with key, line and nearest known key. */
export class ConfigError extends PorticoError {
  readonly problems: readonly ConfigProblem[];
  constructor(problems: readonly ConfigProblem[], name = "the configuration") {
    super("config_error", `${name}: ${problems.map(problemText).join("; ")}`, {
      status: 500,
      details: { problems, file: name },
    });
    this.problems = problems;
  }
}

/** Describes one problem in one line. */
export function problemText({ key, message, line, column, nearest, hint }: ConfigProblem): string {
  const at = key === "" && column !== undefined ? `, column ${column}` : "";
  const place = line === undefined ? "" : `line ${line}${at}: `;
  const subject = key === "" ? "" : `${key} `;
  return `${place}${subject}${message}${formatAdvice(nearest, hint)}`;
}

function formatAdvice(nearest: string | undefined, hint: string | undefined): string {
  if (nearest !== undefined) return `; did you mean ${nearest}?`;
  return hint ? `; ${hint}` : "";
}

/** Describes a problem without its place. */
export const describeWithoutPlace = ({ key, message }: ConfigProblem): string =>
  problemText({ key, message });
