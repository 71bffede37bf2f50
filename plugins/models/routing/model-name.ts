/** Names of models, which callers may invent: they are kept in logs, counters and cooldowns, so they are bounded. */
import { PorticoError } from "portico";

const LONGEST = 256;

/** Throws `invalid_request_error` for a name that is longer than any model's. */
export function checkModelName(model: string): void {
  if (model.length <= LONGEST) return;
  throw new PorticoError(
    "invalid_request_error",
    `The model's name has ${model.length} characters: at most ${LONGEST} are possible.`,
    { param: "model", type: "invalid_request_error" },
  );
}
