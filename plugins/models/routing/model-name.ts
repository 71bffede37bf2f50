/** Names of models, which callers may invent: they are kept in logs, counters and cooldowns, so they are bounded. */
import { errors } from "../errors.ts";

const LONGEST = 256;

/** Throws `invalid_request_error` for a name that is longer than any model's. */
export function checkModelName(model: string): void {
  if (model.length <= LONGEST) return;
  throw errors.modelNameTooLong({ length: model.length, longest: LONGEST }, { param: "model" });
}
