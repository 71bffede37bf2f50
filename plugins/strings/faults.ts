/** What a reader of definitions throws, as faults of the configuration. */
import { type ConfigFault, isPorticoError, parseKeyPath } from "portico";

/**
 * The fault of the definition at `path`, by the error that reading it threw. A `param` below the definition
 * (`schedule.expr`) says where in it; anything that is no `PorticoError` is a bug and thrown again.
 */
export function definitionFault(error: unknown, path: readonly (string | number)[]): ConfigFault {
  if (!isPorticoError(error)) throw error;
  const message = error.message.replace(/\.$/, "");
  return { path: [...path, ...stepsBelow(error.param)], message: `cannot be used: ${message}` };
}

function stepsBelow(param: string | undefined): (string | number)[] {
  try {
    return param === undefined || param === "" ? [] : parseKeyPath(param);
  } catch {
    return [];
  }
}
