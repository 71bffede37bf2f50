/** The agent's notes to itself: `MEMORY.md`, which every prompt includes, and `memory/`, which can be searched. */
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { relative } from "node:path";
import { type PluginContext, Type } from "portico";
import { type OwnWords, ownWords } from "portico/agent";
import { clip } from "portico/strings";
import { errors } from "./errors.ts";
import { resolveExisting, resolvePlace, prepareWrite } from "./files/confine.ts";
import type { GuardedPlace, GuardedPlaces } from "./files/rules.ts";
import { MAX_BYTES, readText } from "./files/text-file.ts";
import { requireParam } from "./files/tool.ts";
import { walk } from "./files/walk.ts";

const MAIN_FILE = "MEMORY.md";
const NOTES_DIRECTORY = "memory";
const MAX_FILES = 2_000;
const MAX_RESULTS = 20;
const NOTE_CHARS = 2_000;

const parameters = Type.Object({
  action: Type.Union([Type.Literal("append"), Type.Literal("search")]),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 20_000,
      description: "For append: the text to remember",
    }),
  ),
  note: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
      expected: "at most 100 letters, digits, dashes and underscores",
      description:
        "For append: the note in memory/ for the text, such as 2026-11-22 or travel (default: MEMORY.md)",
    }),
  ),
  query: Type.Optional(
    Type.String({ minLength: 1, maxLength: 500, description: "For search: the words to find" }),
  ),
});

export function addMemory(ctx: PluginContext, places: GuardedPlaces): void {
  ctx.tool({
    name: "memory",
    description:
      "Your long-term memory. append saves text in MEMORY.md, which every turn includes (keep it short), or in a note. search finds saved text by its words.",
    parameters,
    principals: ["key", "webhook", "poll"],
    ownErrors: true,
    async handler(args, call) {
      const place = await places.of(call);
      if (args.action === "search")
        return search(place, requireParam(args.query, "query", "search"), call.signal);
      const file = args.note === undefined ? MAIN_FILE : `${NOTES_DIRECTORY}/${args.note}.md`;
      await append(place, file, requireParam(args.text, "text", "append"));
      return ownWords(`Saved in ${file}.`);
    },
  });
}

/** Appends the text in a single write, because several sessions may append at the same time. */
async function append(place: GuardedPlace, path: string, text: string): Promise<void> {
  const target = await prepareWrite(place, path, Buffer.byteLength(text));
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = await open(target, flags, 0o600);
  try {
    const { size } = await file.stat();
    if (size + Buffer.byteLength(text) > MAX_BYTES)
      throw errors.noteFull({ path }, { param: "note" });
    await file.writeFile(`${size > 0 ? "\n" : ""}${text.trim()}\n`);
  } finally {
    await file.close();
  }
}

interface Hit {
  path: string;
  paragraph: string;
  words: number;
}

/** Returns the paragraphs that contain most of the words first; among equals, those of the newest notes. */
async function search(
  place: GuardedPlace,
  query: string,
  signal: AbortSignal,
): Promise<string | OwnWords> {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))];
  const resolved = await resolvePlace(place);
  const hits: Hit[] = [];
  for (const path of await listNotes(place, signal)) {
    signal.throwIfAborted();
    const text = await readText(path).catch(() => "");
    for (const paragraph of text.split(/\n[ \t\r]*\n/)) {
      const lower = paragraph.toLowerCase();
      const matchCount = words.filter((word) => lower.includes(word)).length;
      if (matchCount > 0)
        hits.push({
          path: relative(resolved.root, path),
          paragraph: paragraph.trim(),
          words: matchCount,
        });
    }
  }
  hits.sort((a, b) => b.words - a.words);
  const paragraphs = hits
    .slice(0, MAX_RESULTS)
    .map(({ path, paragraph }) => `${path}:\n${clip(paragraph, NOTE_CHARS)}`);
  if (hits.length > MAX_RESULTS)
    paragraphs.push(`(${hits.length - MAX_RESULTS} more: search with more words)`);
  return paragraphs.length === 0 ? ownWords("(no match)") : paragraphs.join("\n\n");
}

/**
 * Returns the main file, then the notes, last name first. Daily notes sort by date, so that the limit drops the oldest
 * ones.
 */
async function listNotes(place: GuardedPlace, signal: AbortSignal): Promise<string[]> {
  const resolved = await resolvePlace(place);
  const notes: string[] = [];
  const dir = await resolveExisting(place, NOTES_DIRECTORY).catch(() => undefined);
  if (dir !== undefined && (await stat(dir)).isDirectory())
    for await (const { path, kind } of walk(dir, resolved, { depth: 8, signal })) {
      if (kind !== "file") continue;
      notes.push(path);
      if (notes.length > MAX_FILES) notes.shift();
    }
  const main = await resolveExisting(place, MAIN_FILE).catch(() => undefined);
  return [...(main === undefined ? [] : [main]), ...notes.reverse()];
}
