/** Writes the table of clients and upstreams in the documentation. A run replaces the rows of its programs. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientProgram, labelOf } from "./programs/program.ts";

const page = join(import.meta.dirname, "../../plugins/docs/guides/clients.md");
const BEGIN = "<!-- clients: begin -->\n";
const END = "\n<!-- clients: end -->";

export interface Row {
  program: ClientProgram;
  /** The cells by the names of their columns. */
  cells: Record<string, string>;
}

/** Writes the table. The columns are the upstreams, and `all` determines the order of the rows. */
export function writeTable(
  columns: readonly string[],
  rows: readonly Row[],
  all: readonly ClientProgram[],
): void {
  const text = readFileSync(page, "utf8");
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)];
  const lines = new Map(
    text
      .slice(before + BEGIN.length, after)
      .split("\n")
      .map(withKey),
  );
  for (const { program, cells } of rows) {
    const line = rowOf([...titleOf(program), ...columns.map((column) => cells[column] ?? "–")]);
    lines.set(keyOf(line), line);
  }
  const sortedRows = all.flatMap((program) => lines.get(keyOf(rowOf(titleOf(program)))) ?? []);
  const head = ["client", "way in", ...columns];
  const table = [rowOf(head), rowOf(head.map(() => "---")), ...sortedRows].join("\n");
  writeFileSync(page, text.slice(0, before) + BEGIN + table + text.slice(after));
}

function titleOf(program: ClientProgram): [string, string] {
  const version = program.packages[0].split(/==|(?!^)@/)[1];
  const label = labelOf({ ...program, name: `${program.name} ${version}` });
  return [label, `\`${program.wayIn}\``];
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function withKey(line: string): [string, string] {
  return [keyOf(line), line];
}

/** Returns the key of a row, without the version, so that a new version of a program replaces the old one. */
function keyOf(line: string): string {
  const [, client = "", way = ""] = line.split("|");
  return `${client.trim().replace(/ \d+\.[\w.]+/, "")} ${way.trim()}`;
}
