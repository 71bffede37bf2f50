/** Looks into the store that an address names, without a gateway. */
import { fileOf, isPostgres } from "./open.ts";
import { inspectDatabase } from "./postgres/inspect.ts";
import { inspectFile } from "./sqlite/inspect.ts";
import type { Inspection } from "./inspection/inspection.ts";

/** Throws `config_error` for an address that cannot be right. */
export async function inspect(url: string): Promise<Inspection> {
  const { remedy, ...seen } = await (isPostgres(url)
    ? inspectDatabase(url)
    : inspectFile(fileOf(url)));
  return { ...seen, ...(seen.problems.length > 0 && { remedy }) };
}
