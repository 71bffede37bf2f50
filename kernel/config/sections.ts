/** The sections of the configuration: each owner's schemas, and its check of rules that schemas cannot express. */
import type { TSchema } from "@sinclair/typebox";
import type { ConfigCheck, ConfigSchemas, Dispose } from "../contract/index.ts";
import { composeSchema } from "./compose.ts";
import { kernelConfigCheck } from "./kernel-check.ts";
import { kernelSchemas } from "./schema.ts";

/** Loads a check on demand, because most commands do not need it. */
export type LoadCheck = () => Promise<{ default: ConfigCheck }>;

export interface SectionOwner {
  /** The owner's name. */
  name: string;
  schemas: ConfigSchemas;
  check?: LoadCheck | undefined;
}

export class SectionRegistry {
  readonly #owners = new Map<symbol, SectionOwner>();
  #composed: TSchema | undefined;

  constructor() {
    this.define({
      name: "kernel",
      schemas: kernelSchemas,
      check: async () => ({ default: kernelConfigCheck }),
    });
  }

  /** Adds an owner's sections. The returned function removes them. */
  define(owner: SectionOwner): Dispose {
    const key = Symbol(owner.name);
    this.#owners.set(key, owner);
    this.#composed = undefined;
    return () => {
      if (this.#owners.delete(key)) this.#composed = undefined;
    };
  }

  /** All sections as one schema. It is the same object until an owner is added or removed. */
  get composed(): TSchema {
    this.#composed ??= composeSchema([...this.#owners.values()].map(({ schemas }) => schemas));
    return this.#composed;
  }

  owners(): SectionOwner[] {
    return [...this.#owners.values()];
  }
}
