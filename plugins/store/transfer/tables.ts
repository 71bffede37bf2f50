/** The tables as they are copied: each with its key, by which it is read in pages. */
import { migrations } from "../sql/migrations.ts";

export interface Table {
  name: string;
  key: readonly string[];
  columns: readonly string[];
}

/** Read from the migrations themselves, so that a column that is added to them is copied too. */
export function tablesOf(schemaVersion: number): Table[] {
  return readTables(migrations.slice(0, schemaVersion).flat());
}

export const tables: readonly Table[] = tablesOf(migrations.length);

/** In these columns numbers need not be whole. */
export const FRACTIONS = new Set(["cost"]);

function readTables(statements: readonly string[]): Table[] {
  const found = new Map<string, { name: string; key: string[]; columns: string[] }>();
  for (const sql of statements) {
    const created = /^CREATE TABLE (\w+) \(([\s\S]*)\)$/.exec(sql);
    if (created) {
      const [, name = "", body = ""] = created;
      const key = /PRIMARY KEY \(([^)]+)\)/.exec(body)?.[1]?.split(/,\s*/);
      const parts = body.replace(/,?\s*PRIMARY KEY \([^)]+\)/, "").split(",");
      const columns = parts.map((part) => part.trim().split(/\s/)[0] ?? "");
      const own = parts.find((part) => /PRIMARY KEY|\{serial\}/.test(part));
      found.set(name, { name, columns, key: key ?? [own?.trim().split(/\s/)[0] ?? ""] });
    }
    const added = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(sql);
    if (added) found.get(added[1] ?? "")?.columns.push(added[2] ?? "");
  }
  return [...found.values()];
}
