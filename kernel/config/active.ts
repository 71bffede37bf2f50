/** The active configuration: the last state of the file that was valid. */
import type { TSchema } from "@sinclair/typebox";
import { deepFreeze } from "./diff.ts";
import { evaluate } from "./evaluate.ts";
import type { Reading } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

export type Evaluation = ReturnType<typeof evaluate>;

export class ActiveConfig {
  readonly #sections: SectionRegistry;
  #reading: Reading;
  /** The values for one reading and one schema. They are evaluated again when either changes. */
  #cache: { reading: Reading; schema: TSchema; evaluated: Evaluation } | undefined;

  constructor(reading: Reading, sections: SectionRegistry) {
    this.#reading = reading;
    this.#sections = sections;
  }

  get reading(): Reading {
    return this.#reading;
  }

  /** The evaluated configuration. Its values are frozen. */
  get evaluated(): Evaluation {
    const schema = this.#sections.composed;
    if (this.#cache?.reading !== this.#reading || this.#cache.schema !== schema) {
      const evaluated = evaluate(this.#reading, schema);
      deepFreeze(evaluated.value);
      this.#cache = { reading: this.#reading, schema, evaluated };
    }
    return this.#cache.evaluated;
  }

  activate(reading: Reading): void {
    this.#reading = reading;
  }
}
