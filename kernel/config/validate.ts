/** Finds the problems of the active configuration, by the schemas and by the owners' own checks. */
import { formatKeyPath, isAtOrBelow, valueAt } from "../text/key-path.ts";
import type { ActiveConfig } from "./active.ts";
import { assess, type Surroundings } from "./assess.ts";
import { ConfigError, type ConfigProblem } from "./config-error.ts";
import { UNKNOWN } from "./evaluate.ts";
import type { SectionRegistry } from "./sections.ts";

export interface ValidatorParts {
  /** The file's name, for messages. */
  name: string;
  active: ActiveConfig;
  sections: SectionRegistry;
  surroundings: Surroundings;
}

export class ConfigValidator {
  readonly #parts: ValidatorParts;

  constructor(parts: ValidatorParts) {
    this.#parts = parts;
  }

  /** Throws a `ConfigError` that names every violation of the schemas. */
  check(): void {
    this.#throwIfAny(this.#parts.active.evaluated.problems());
  }

  /**
   * Returns a section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section
   * alone.
   */
  section(path: string): unknown {
    const steps = path.split(".");
    if (steps.at(-1) === "*") steps.pop();
    const { value, problems } = this.#parts.active.evaluated;
    const prefix = formatKeyPath(steps);
    // Unknown keys may belong to a plugin that is not loaded yet, so only `check` reports them.
    this.#throwIfAny(
      problems(
        ({ message, path }) => message !== UNKNOWN && isAtOrBelow(formatKeyPath(path), prefix),
      ),
    );
    return valueAt(value, steps);
  }

  /** Returns all problems, by the schemas and by the owners' checks. */
  async problems(): Promise<ConfigProblem[]> {
    return [...this.#parts.active.evaluated.problems(), ...(await this.leftOut())];
  }

  /** Returns the parts that a gateway leaves out, by the owners' checks. */
  async leftOut(): Promise<ConfigProblem[]> {
    const { active, sections, surroundings } = this.#parts;
    return (await assess(active.reading, active.evaluated, sections, surroundings)).faults;
  }

  #throwIfAny(problems: readonly ConfigProblem[]): void {
    if (problems.length > 0) throw new ConfigError(problems, this.#parts.name);
  }
}
