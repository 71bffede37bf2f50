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

interface TableBuilder extends Table {
  key: string[];
  columns: string[];
  texts: string[];
}

type Tables = Map<string, TableBuilder>;

/** Applies the statements in order. Each function below handles one kind of statement and ignores all others. */
function readTables(statements: readonly string[]): Table[] {
  const tables: Tables = new Map();
  for (const sql of statements) {
    createTable(tables, sql);
    addColumn(tables, sql);
    dropColumn(tables, sql);
    dropTable(tables, sql);
    renameTable(tables, sql);
  }
  return [...tables.values()];
}

function createTable(tables: Tables, sql: string): void {
  const match = /^CREATE TABLE (\w+) \(([\s\S]*)\)$/.exec(sql);
  if (!match) return;
  const [, name = "", body = ""] = match;
  const key = /PRIMARY KEY \(([^)]+)\)/.exec(body)?.[1]?.split(/,\s*/);
  const parts = body.replace(/,?\s*PRIMARY KEY \([^)]+\)/, "").split(",");
  const columns = parts.map(firstWord);
  const texts = parts.filter((part) => / TEXT\b/.test(part)).map(firstWord);
  const keyColumn = parts.find((part) => /PRIMARY KEY|\{serial\}/.test(part)) ?? "";
  tables.set(name, { name, columns, key: key ?? [firstWord(keyColumn)], texts });
}

function addColumn(tables: Tables, sql: string): void {
  const match = /^ALTER TABLE (\w+) ADD COLUMN (\w+) (\w+)/.exec(sql);
  if (!match) return;
  const [, name = "", column = "", type] = match;
  tables.get(name)?.columns.push(column);
  if (type === "TEXT") tables.get(name)?.texts.push(column);
}

function dropColumn(tables: Tables, sql: string): void {
  const [, name = "", column] = /^ALTER TABLE (\w+) DROP COLUMN (\w+)/.exec(sql) ?? [];
  const table = tables.get(name);
  if (!table) return;
  table.columns = table.columns.filter((other) => other !== column);
  table.texts = table.texts.filter((other) => other !== column);
}

function dropTable(tables: Tables, sql: string): void {
  const [, name = ""] = /^DROP TABLE (\w+)$/.exec(sql) ?? [];
  tables.delete(name);
}

function renameTable(tables: Tables, sql: string): void {
  const [, oldName = "", name = ""] = /^ALTER TABLE (\w+) RENAME TO (\w+)$/.exec(sql) ?? [];
  const table = tables.get(oldName);
  if (!table) return;
  tables.delete(oldName);
  tables.set(name, { ...table, name });
}

function firstWord(part: string): string {
  return part.trim().split(/\s/)[0] ?? "";
}
