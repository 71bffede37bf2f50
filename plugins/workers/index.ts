/** The face `portico/workers`: makes a process a worker of a gateway, or the process that runs the workers. */
import type { Primary, PrimaryOptions } from "./primary.ts";

export { joinWorkers, type ProcessLink } from "./link.ts";
export { WORKER_VARIABLE } from "./messages.ts";

/** Only the process that runs workers needs this code, so it is loaded by the first call. */
export async function runWorkers(options: PrimaryOptions): Promise<Primary> {
  const primary = await import("./primary.ts");
  return primary.runWorkers(options);
}
