import { readdir, readFile, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { HookHandler } from "portico";

const handler: HookHandler<"agent:bootstrap"> = async (event, ctx) => {
  const patterns = listOf(ctx.config["paths"]);
  if (patterns.length === 0) return;
  const workspace = await realpath(event.context.workspace || ctx.paths.workspace);
  const maxBytes = Number(ctx.config["maxBytes"] ?? 65_536);
  const maxFiles = Number(ctx.config["maxFiles"] ?? 20);
  const knownPaths = new Set(event.context.bootstrapFiles.map((file) => file.path));
  const paths = await findMatches(workspace, patterns);
  if (paths.length > maxFiles)
    ctx.log.warn({ matches: paths.length, maxFiles }, "more files match than the hook adds");
  for (const path of paths.slice(0, maxFiles)) {
    const file = join(workspace, path);
    if (knownPaths.has(file) || knownPaths.has(path)) continue;
    try {
      if (!(await realpath(file)).startsWith(workspace + sep)) continue;
      const bytes = await readFile(file);
      const content = bytes.subarray(0, maxBytes).toString("utf8");
      event.context.bootstrapFiles.push({ name: path, path: file, content, missing: false });
    } catch (error) {
      // The file is a dangling link, a link to a directory, or unreadable.
      ctx.log.warn({ err: error, file: path }, "a file that matches cannot be read");
    }
  }
};

export default handler;

function listOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "");
}

/** Returns the files of the workspace that match a pattern, sorted, with `/` between directories. */
async function findMatches(workspace: string, patterns: readonly string[]): Promise<string[]> {
  const tests = patterns.map((pattern) => expressionOf(pattern.replace(/^\.\//, "")));
  const depth = patterns.some((pattern) => pattern.includes("**"))
    ? 8
    : Math.max(...patterns.map((p) => p.split("/").length));
  const names = (await listFiles(workspace, depth)).map((file) =>
    relative(workspace, file).split(sep).join("/"),
  );
  return names.filter((name) => tests.some((test) => test.test(name))).sort();
}

/** Lists all files up to a depth, except those of packages and of Git. */
async function listFiles(directory: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const lists = entries.map(async (entry) => {
    if (entry.name === "node_modules" || entry.name === ".git") return [];
    const path = join(directory, entry.name);
    if (!entry.isDirectory()) return [path];
    return depth > 1 ? listFiles(path, depth - 1) : [];
  });
  return (await Promise.all(lists)).flat();
}

function expressionOf(pattern: string): RegExp {
  const source = pattern.replace(/\*\*\/|\*\*|[*?]|[.+^${}()|[\]\\]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    return `\\${part}`;
  });
  return new RegExp(`^${source}$`);
}
