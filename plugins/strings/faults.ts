/** Converts the errors of reading definitions to faults of the configuration. */
import { type ConfigFault, isPorticoError, parseKeyPath } from "portico";

/**
 * Returns the fault for an error that was thrown while the definition at `path` was read. The error's `param`
 * (`schedule.expr`) extends the path. Anything other than a `PorticoError` is a bug, and is thrown again.
 */
export function definitionFault(error: unknown, path: readonly (string | number)[]): ConfigFault {
  if (!isPorticoError(error)) throw error;
  const message = error.message.replace(/\.$/, "");
  return { path: [...path, ...parseParam(error.param)], message: `cannot be used: ${message}` };
}

function parseParam(param: string | undefined): (string | number)[] {
  try {
    return param === undefined || param === "" ? [] : parseKeyPath(param);
  } catch {
    return [];
  }
}
