/** The tables to copy, each with the key by which it is read in pages. */
import { migrations } from "../sql/migrations.ts";

export interface Table {
  name: string;
  key: readonly string[];
  columns: readonly string[];
  /** The columns that hold text. */
  texts: readonly string[];
}

/** Reads the tables from the migrations themselves, so that columns which are added there are copied too. */
export function readTablesAt(schemaVersion: number): Table[] {
  const parts = migrations.slice(0, schemaVersion).flat();
  return readTables(parts.filter((part) => typeof part === "string"));
}

export const tables: readonly Table[] = readTablesAt(migrations.length);

/** The columns whose numbers may be fractions. */
export const FRACTIONS = new Set(["cost", "amount"]);

function readTables(statements: readonly string[]): Table[] {
  const tables = new Map<
    string,
    { name: string; key: string[]; columns: string[]; texts: string[] }
  >();
  for (const sql of statements) {
    const creation = /^CREATE TABLE (\w+) \(([\s\S]*)\)$/.exec(sql);
    if (creation) {
      const [, name = "", body = ""] = creation;
      const key = /PRIMARY KEY \(([^)]+)\)/.exec(body)?.[1]?.split(/,\s*/);
      const parts = body.replace(/,?\s*PRIMARY KEY \([^)]+\)/, "").split(",");
      const firstWord = (part: string) => part.trim().split(/\s/)[0] ?? "";
      const columns = parts.map(firstWord);
      const texts = parts.filter((part) => / TEXT\b/.test(part)).map(firstWord);
      const keyColumn = parts.find((part) => /PRIMARY KEY|\{serial\}/.test(part));
      tables.set(name, { name, columns, key: key ?? [firstWord(keyColumn ?? "")], texts });
    }
    const [, to = "", column = "", type] =
      /^ALTER TABLE (\w+) ADD COLUMN (\w+) (\w+)/.exec(sql) ?? [];
    tables.get(to)?.columns.push(column);
    if (type === "TEXT") tables.get(to)?.texts.push(column);
    const [, from = "", dropped] = /^ALTER TABLE (\w+) DROP COLUMN (\w+)/.exec(sql) ?? [];
    const table = tables.get(from);
    if (table) {
      table.columns = table.columns.filter((name) => name !== dropped);
      table.texts = table.texts.filter((name) => name !== dropped);
    }
    const [, removed = ""] = /^DROP TABLE (\w+)$/.exec(sql) ?? [];
    tables.delete(removed);
    const [, old = "", name = ""] = /^ALTER TABLE (\w+) RENAME TO (\w+)$/.exec(sql) ?? [];
    const renamed = tables.get(old);
    if (renamed) {
      tables.delete(old);
      tables.set(name, { ...renamed, name });
    }
  }
  return [...tables.values()];
}
