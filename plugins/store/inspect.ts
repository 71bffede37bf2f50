/** Inspects the store at an address without a gateway. */
import { parseFilePath, isPostgres } from "./open.ts";
import { inspectDatabase } from "./postgres/inspect.ts";
import { inspectFile } from "./sqlite/inspect.ts";
import type { Inspection } from "./inspection/inspection.ts";

/** Throws `config_error` for an invalid address. */
export async function inspect(url: string): Promise<Inspection> {
  const { remedy, ...inspection } = await (isPostgres(url)
    ? inspectDatabase(url)
    : inspectFile(parseFilePath(url)));
  return { ...inspection, ...(inspection.problems.length > 0 && { remedy }) };
}
