/**
 * Reads a `HOOK.md`. gray-matter would run JavaScript that stands in front matter (`---js`); here the first line is
 * checked before it sees the text, its JavaScript engine refuses, and YAML is read by `yaml` (1.2, no aliases).
 */
import matter from "gray-matter";
import { type Document, LineCounter, parseDocument } from "yaml";
import { isRecord } from "../../text/key-path.ts";
import { didYouMean } from "../../text/nearest.ts";
import { isHookName } from "./name.ts";

/** What a hook says of itself. */
export interface HookMeta {
  name?: string;
  description?: string;
  /** `command:*` stands for every event of a kind. */
  events: string[];
  /** Higher runs first. */
  priority: number;
  enabled?: boolean;
  /** Deadline of one call in ms. */
  timeoutMs: number;
  /** While the handler does not work, its events are refused instead of passing. */
  failClosed: boolean;
  /** The handler's export where it is not the default one. */
  export?: string;
  os?: string[];
  requires: { bins: string[]; anyBins: string[]; env: string[]; config: string[] };
  /** Requirements are not asked for (the operating system still is). */
  always: boolean;
  homepage?: string;
  emoji?: string;
}

export interface FrontMatter {
  meta: HookMeta;
  /** Things that are odd but harmless, one line each. */
  warnings: string[];
}

/** What is wrong with a `HOOK.md`, and on which line of it. */
export class FrontMatterError extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.name = "FrontMatterError";
    this.line = line;
  }
}

const FIELDS =
  "name description events priority enabled timeoutMs failClosed export os requires always homepage emoji".split(" ");

/** Parses the text of a `HOOK.md`. Throws `FrontMatterError`. */
export function parseHookMd(source: string): FrontMatter {
  const text = source.replaceAll("\r\n", "\n");
  if (!/^\uFEFF?---[ \t]*(\n|$)/.test(text)) {
    const other = /^\uFEFF?---[ \t]*(\S+)/.exec(text);
    throw new FrontMatterError(
      other
        ? `front matter of the kind "${other[1]}" is refused: HOOK.md takes YAML between two lines of ---`
        : "HOOK.md must begin with front matter: a line ---, YAML, and another line ---",
      1,
    );
  }
  if (!/\n---[ \t]*(\n|$)/.test(text)) {
    throw new FrontMatterError("the front matter is not closed: a second line --- is missing", text.split("\n").length);
  }
  const lines = new LineCounter();
  let document: Document | undefined;
  const refuse = (): never => {
    throw new FrontMatterError("front matter must be YAML", 1);
  };
  const { data } = matter(text, {
    language: "yaml",
    engines: {
      yaml: {
        parse: (block: string) => {
          document = parseDocument(block, { lineCounter: lines, schema: "core", prettyErrors: false });
          const [error] = document.errors;
          if (error) throw new FrontMatterError(`not valid YAML: ${error.message}`, lineOf(lines, error.pos[0]));
          return plain(document);
        },
        stringify: refuse,
      },
      javascript: { parse: refuse, stringify: refuse },
      js: { parse: refuse, stringify: refuse },
    },
  }) as { data: unknown };
  return validate(data, (path) => lineOfPath(document, lines, path));
}

function plain(document: Document): object {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new FrontMatterError("YAML aliases (*name) are refused in front matter", 1);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new FrontMatterError("front matter must be a map of keys and values", 2);
  }
  return value;
}

// The block starts with the rest of the fence's own line, so its line numbers are the file's.
function lineOf(lines: LineCounter, offset: number): number {
  return Math.max(1, lines.linePos(offset).line);
}

function lineOfPath(document: Document | undefined, lines: LineCounter, path: readonly string[]): number {
  for (let length = path.length; document && length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as { range?: [number, number, number] } | undefined;
    if (node?.range) return lineOf(lines, node.range[0]);
  }
  return 1;
}

interface Layer {
  at: readonly string[];
  values: Record<string, unknown>;
}

type LineOf = (path: readonly string[]) => number;

/** The field's value from the first layer that has it, with the place it came from. */
function validate(data: unknown, lineAt: LineOf): FrontMatter {
  const top = data as Record<string, unknown>;
  const layers = [{ at: [], values: top }, ...metadataLayers(top["metadata"], lineAt)];
  const warnings: string[] = [];
  for (const key of Object.keys(top)) {
    if (key === "metadata" || FIELDS.includes(key)) continue;
    const close = didYouMean(key, [...FIELDS, "metadata"]);
    warnings.push(`unknown key "${key}" (line ${lineAt([key])})${close ? `; did you mean "${close}"?` : ""}`);
  }
  const read = <T>(field: string, expected: string, accept: (value: unknown) => T | undefined): T | undefined => {
    const layer = layers.find((candidate) => candidate.values[field] !== undefined && candidate.values[field] !== null);
    if (!layer) return undefined;
    const value = accept(layer.values[field]);
    const path = [...layer.at, field];
    if (value === undefined) throw new FrontMatterError(`"${path.join(".")}" must be ${expected}`, lineAt(path));
    return value;
  };

  const named = read("events", "an event name or a list of them, such as [message:received]", nameList) ?? [];
  // Packs name a whole kind of events (`command`); a name at the top level is meant to the letter.
  const events = top["events"] ? named : named.map((event) => (event.includes(":") ? event : `${event}:*`));
  if (events.length === 0) {
    throw new FrontMatterError(
      '"events" is missing: name the events that the hook handles, such as events: [message:received]',
      1,
    );
  }
  const requires = read("requires", "a map with bins, anyBins, env or config", asObject) ?? {};
  const need = (field: string): string[] => {
    const value = requires[field];
    if (value === undefined || value === null) return [];
    const list = nameList(value);
    if (!list) throw new FrontMatterError(`"requires.${field}" must be a list of names`, lineAt(["requires", field]));
    return list;
  };
  const optional = <K extends string, T>(key: K, value: T | undefined) =>
    (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
  const meta: HookMeta = {
    events: [...new Set(events)],
    priority: read("priority", "a number", finite) ?? 0,
    timeoutMs: read("timeoutMs", "a number of milliseconds from 1 to 600000", milliseconds) ?? 5000,
    failClosed: read("failClosed", "true or false", boolean) ?? false,
    always: read("always", "true or false", boolean) ?? false,
    requires: { bins: need("bins"), anyBins: need("anyBins"), env: need("env"), config: need("config") },
    ...optional("name", read("name", "letters, digits, dots, dashes or underscores, at most 64", hookName)),
    ...optional("description", read("description", "a text", text)),
    ...optional("enabled", read("enabled", "true or false", boolean)),
    ...optional("export", read("export", "the name of an export", text)),
    ...optional("os", read("os", "a list of platforms, such as [linux, darwin]", nameList)),
    ...optional("homepage", read("homepage", "an address", text)),
    ...optional("emoji", read("emoji", "a text", text)),
  };
  return { meta, warnings };
}

/** `metadata` may be a map or JSON in a string; each map in it may carry fields, Portico's own before others'. */
function metadataLayers(metadata: unknown, lineAt: LineOf): Layer[] {
  let value = metadata;
  if (typeof value === "string") {
    // JSON, and JSON with the liberties that packs take, are YAML.
    const inside = parseDocument(value, { schema: "core", prettyErrors: false });
    if (inside.errors.length > 0)
      throw new FrontMatterError('"metadata" is a text that is not JSON', lineAt(["metadata"]));
    value = plain(inside);
  }
  if (value === undefined || value === null) return [];
  const map = asObject(value);
  if (!map) throw new FrontMatterError('"metadata" must be a map', lineAt(["metadata"]));
  const own = Object.entries(map).sort(([a], [b]) => Number(b === "portico") - Number(a === "portico"));
  const layers: Layer[] = [];
  for (const [key, entry] of own) {
    const values = asObject(entry);
    // "requires" directly under metadata is a field, not somebody's namespace.
    if (values && !FIELDS.includes(key)) layers.push({ at: ["metadata", key], values });
  }
  return [...layers, { at: ["metadata"], values: map }];
}

const asObject = (value: unknown) => (isRecord(value) ? value : undefined);
const text = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value : undefined);
const boolean = (value: unknown) => (typeof value === "boolean" ? value : undefined);
const finite = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const hookName = (value: unknown) => (typeof value === "string" && isHookName(value) ? value : undefined);

function milliseconds(value: unknown): number | undefined {
  return typeof value === "number" && value >= 1 && value <= 600_000 ? value : undefined;
}

function nameList(value: unknown): string[] | undefined {
  const list = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list) || !list.every((item) => typeof item === "string" && item.trim() !== "")) return undefined;
  return list.map((item: string) => item.trim());
}
