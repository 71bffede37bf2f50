/**
 * Reports the size of each folder: lines, syntax nodes and exported names of its TypeScript files.
 *
 * Nothing fails by size. The report lets a review ask why a folder grew, and syntax nodes show what lines hide:
 * code that was only compressed keeps its number of nodes.
 *
 * `npm run size` prints the rooms; `npm run size -- plugins/agent` prints the folders below one of them.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";

interface Size {
  files: number;
  lines: number;
  nodes: number;
  names: number;
}

const [room = ""] = process.argv.slice(2);
const depth = room === "" ? 2 : room.split("/").length + 1;
const folders = new Map<string, Size>();
for (const file of sourceFiles()) addFile(file);
printTable();

function sourceFiles(): string[] {
  return execFileSync("git", ["ls-files", "*.ts"], { encoding: "utf8" })
    .split("\n")
    .filter((file) => file.startsWith(room) && file.endsWith(".ts") && existsSync(file));
}

function addFile(file: string): void {
  const text = readFileSync(file, "utf8");
  const { program, module } = parseSync(file, text);
  const size = folders.get(folderOf(file)) ?? { files: 0, lines: 0, nodes: 0, names: 0 };
  folders.set(folderOf(file), {
    files: size.files + 1,
    lines: size.lines + text.split("\n").length - 1,
    nodes: size.nodes + countNodes(program),
    names: size.names + module.staticExports.flatMap(({ entries }) => entries).length,
  });
}

function folderOf(file: string): string {
  const parts = file.split("/");
  return parts.slice(0, Math.min(depth, parts.length - 1)).join("/") || ".";
}

/** Counts the objects of a syntax tree that have a `type`. */
function countNodes(tree: unknown): number {
  if (typeof tree !== "object" || tree === null) return 0;
  const count = "type" in tree && typeof tree.type === "string" ? 1 : 0;
  return Object.values(tree).reduce((sum: number, child) => sum + countNodes(child), count);
}

function printTable(): void {
  const rows = [...folders].sort(([a], [b]) => a.localeCompare(b));
  const total = rows.reduce(
    (sum, [, size]) => ({
      files: sum.files + size.files,
      lines: sum.lines + size.lines,
      nodes: sum.nodes + size.nodes,
      names: sum.names + size.names,
    }),
    { files: 0, lines: 0, nodes: 0, names: 0 },
  );
  const width = Math.max("folder".length, ...rows.map(([folder]) => folder.length));
  const print = (folder: string, cells: readonly (string | number)[]): void =>
    console.log(folder.padEnd(width) + cells.map((cell) => String(cell).padStart(10)).join(""));
  print("folder", ["files", "lines", "nodes", "names"]);
  for (const [folder, { files, lines, nodes, names }] of rows)
    print(folder, [files, lines, nodes, names]);
  print("total", [total.files, total.lines, total.nodes, total.names]);
}
