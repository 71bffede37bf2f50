/**
 * Reads a `HOOK.md`: YAML 1.2 (without aliases) between two lines of `---`. gray-matter would run code that stands
 * there (`---js`): the first line is checked before it sees the text, and its one engine is the YAML reader.
 */
import matter from "gray-matter";
import { type Document, LineCounter, parseDocument } from "yaml";
import type { HookMeta } from "../../contract/hooks.ts";
import { isRecord } from "../../text/key-path.ts";
import { didYouMean } from "../../text/nearest.ts";
import { isHookName } from "./name.ts";

export interface FrontMatter {
  meta: HookMeta;
  /** Things that are odd but harmless, one line each. */
  warnings: string[];
}

/** What is wrong with a `HOOK.md`, and on which line of it. */
export class FrontMatterError extends Error {
  override name = "FrontMatterError";
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(message);
  }
}

const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
const isFlag = (value: unknown) => typeof value === "boolean";
const isNumber = (value: unknown, least = -Infinity, most = Infinity) =>
  typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;
const isList = (value: unknown) => (Array.isArray(value) ? value.every(isText) : isText(value));

/** Field → whether a value is one, and what it must be. */
const fields: Record<keyof HookMeta, [fits: (value: unknown) => boolean, expected: string]> = {
  name: [
    (value) => typeof value === "string" && isHookName(value),
    "letters, digits, dots, dashes or underscores, at most 64",
  ],
  description: [isText, "a text"],
  events: [isList, "an event name or a list of them, such as [message:received]"],
  priority: [(value) => isNumber(value), "a number"],
  enabled: [isFlag, "true or false"],
  timeoutMs: [(value) => isNumber(value, 1, 600_000), "a number of milliseconds from 1 to 600000"],
  failClosed: [isFlag, "true or false"],
  export: [isText, "the name of an export"],
  os: [isList, "a list of platforms, such as [linux, darwin]"],
  requires: [isRecord, "a map with bins, anyBins, env or config"],
  always: [isFlag, "true or false"],
  homepage: [isText, "an address"],
  emoji: [isText, "a text"],
};

type Values = Record<string, unknown>;
/** A map that may carry fields, and where it stands. */
type Layer = { at: readonly string[]; values: Values };
type LineOf = (path: readonly string[]) => number;

/** Parses the text of a `HOOK.md`. Throws `FrontMatterError`. */
export function parseHookMd(source: string): FrontMatter {
  const text = source.replaceAll("\r\n", "\n").replace(/^\uFEFF/, "");
  const [, kind] = /^---[ \t]*(\S*)/.exec(text) ?? [];
  if (kind === undefined)
    throw new FrontMatterError("HOOK.md must begin with front matter: a line ---, YAML, and another line ---", 1);
  if (kind) {
    const message = `front matter of the kind "${kind}" is refused: HOOK.md takes YAML between two lines of ---`;
    throw new FrontMatterError(message, 1);
  }
  if (!/\n---[ \t]*(\n|$)/.test(text))
    throw new FrontMatterError("the front matter is not closed: a second line --- is missing", text.split("\n").length);
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  let document: Document | undefined;
  // It comes with the rest of the first line, so that its line numbers are the file's.
  const yaml = (block: string): Values => {
    document = parseDocument(block, { lineCounter: lines, schema: "core", prettyErrors: false });
    const [error] = document.errors;
    if (error) throw new FrontMatterError(`not valid YAML: ${error.message}`, lineAt(error.pos[0]));
    return valuesOf(document);
  };
  const { data } = matter(text, { language: "yaml", engines: { yaml: { parse: yaml } } });
  return validate(data, (path) => {
    for (let length = path.length; document && length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as { range?: [number, number, number] } | undefined;
      if (node?.range) return lineAt(node.range[0]);
    }
    return 1;
  });
}

function valuesOf(document: Document): Values {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch {
    throw new FrontMatterError("YAML aliases (*name) are refused in front matter", 1);
  }
  if (isRecord(value)) return value;
  throw new FrontMatterError("front matter must be a map of keys and values", 2);
}

function validate(top: Values, lineOf: LineOf): FrontMatter {
  const layers = [{ at: [], values: top }, ...metadataLayers(top["metadata"], lineOf)];
  const known = [...Object.keys(fields), "metadata"];
  const warnings = Object.keys(top)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = didYouMean(key, known);
      return `unknown key "${key}" (line ${lineOf([key])})${near ? `; did you mean "${near}"?` : ""}`;
    });
  // Each field from the first layer that has it.
  const given: Values = {};
  for (const [field, [fits, expected]] of Object.entries(fields)) {
    const layer = layers.find(({ values }) => (values[field] ?? undefined) !== undefined);
    if (!layer) continue;
    const path = [...layer.at, field];
    if (!fits(layer.values[field])) throw new FrontMatterError(`"${path.join(".")}" must be ${expected}`, lineOf(path));
    given[field] = layer.values[field];
  }
  const requires = (given["requires"] ?? {}) as Values;
  const required = (field: string): string[] => {
    const value = requires[field] ?? [];
    if (isList(value)) return listOf(value);
    throw new FrontMatterError(`"requires.${field}" must be a list of names`, lineOf(["requires", field]));
  };
  // Packs name a whole kind of events (`command`); a name at the top level is meant to the letter.
  const named = listOf(given["events"]);
  const events = top["events"] ? named : named.map((event) => (event.includes(":") ? event : `${event}:*`));
  if (events.length === 0) {
    const message = '"events" is missing: name the events that the hook handles, such as events: [message:received]';
    throw new FrontMatterError(message, 1);
  }
  const meta: HookMeta = {
    priority: 0,
    timeoutMs: 5000,
    failClosed: false,
    always: false,
    ...given,
    events: [...new Set(events)],
    ...(given["os"] ? { os: listOf(given["os"]) } : {}),
    requires: {
      bins: required("bins"),
      anyBins: required("anyBins"),
      env: required("env"),
      config: required("config"),
    },
  };
  return { meta, warnings };
}

/** `metadata` may be a map or JSON in a string; each map in it may carry fields, Portico's own before others'. */
function metadataLayers(metadata: unknown, lineOf: LineOf): Layer[] {
  let value = metadata ?? undefined;
  if (value === undefined) return [];
  if (typeof value === "string") {
    // JSON, and JSON with the liberties that packs take, are YAML.
    const inside = parseDocument(value, { schema: "core", prettyErrors: false });
    if (inside.errors.length > 0)
      throw new FrontMatterError('"metadata" is a text that is not JSON', lineOf(["metadata"]));
    value = valuesOf(inside);
  }
  if (!isRecord(value)) throw new FrontMatterError('"metadata" must be a map', lineOf(["metadata"]));
  const layers = Object.entries(value)
    .sort(([a], [b]) => Number(b === "portico") - Number(a === "portico"))
    // "requires" directly under metadata is a field, not somebody's namespace.
    .flatMap(([key, values]) =>
      isRecord(values) && !Object.hasOwn(fields, key) ? [{ at: ["metadata", key], values }] : [],
    );
  return [...layers, { at: ["metadata"], values: value }];
}

function listOf(value: unknown): string[] {
  return [value ?? []].flat().map((item) => String(item).trim());
}
