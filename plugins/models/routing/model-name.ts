/** Limits the length of model names: callers may invent them, and logs, counters and cooldowns store them. */
import { errors } from "../errors.ts";

const MAX_LENGTH = 256;

/** Throws `invalid_request_error` for a name that is longer than any model's. */
export function checkModelName(model: string): void {
  if (model.length <= MAX_LENGTH) return;
  throw errors.modelNameTooLong({ length: model.length, longest: MAX_LENGTH }, { param: "model" });
}
