/**
 * Reads a `HOOK.md`: YAML 1.2 (without aliases) between two lines of `---`. gray-matter would run code in front matter
 * (`---js`), so the first line is checked before gray-matter sees the text, and its one engine is the YAML reader.
 */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import matter from "gray-matter";
import { type Document, LineCounter, parseDocument } from "yaml";
import { fillDefaults } from "../../../schema/defaults.ts";
import { LoadError } from "../../../loader/problem.ts";
import { problemsIn } from "../../../schema/problems.ts";
import { isRecord } from "../../../text/key-path.ts";
import { didYouMean } from "../../../text/nearest.ts";
import { hookName } from "./name.ts";

export interface FrontMatter {
  meta: HookMeta;
  /** Harmless problems, one line each. */
  warnings: string[];
}

/** Creates the error for a problem on a line of a `HOOK.md`. */
const createError = (message: string, line: number) => new LoadError(message, undefined, line);

const text = (expected: string) => Type.Optional(Type.String({ pattern: "\\S", expected }));
const flag = { default: false, expected: "true or false" };
const names = (expected = "a list of names") =>
  Type.Array(Type.String({ pattern: "\\S" }), { default: [], expected });
const milliseconds = { minimum: 1, maximum: 600_000, default: 5000 };

/** The fields of a HOOK.md; `expected` completes the sentence about what a field must be. */
const schema = Type.Object({
  name: Type.Optional(
    Type.String({
      pattern: hookName.source,
      expected: "at most 64 letters, digits, dots, dashes or underscores",
    }),
  ),
  description: text("a text"),
  /** The events that the hook handles; `command:*` stands for every event of a kind. */
  events: names("an event name or a list of them, such as [message:received]"),
  /** Hooks with a higher number run first. */
  priority: Type.Number({ default: 0, expected: "a number" }),
  enabled: Type.Optional(Type.Boolean({ expected: "true or false" })),
  /** The deadline of one call in ms. */
  timeoutMs: Type.Number({
    ...milliseconds,
    expected: "a number of milliseconds from 1 to 600000",
  }),
  /** Refuses the hook's events while its handler does not work, instead of letting them pass. */
  failClosed: Type.Boolean(flag),
  /** The name of the handler's export, if it is not the default export. */
  export: text("the name of an export"),
  os: Type.Optional(
    Type.Array(Type.String({ pattern: "\\S" }), {
      expected: "a list of platforms, such as [linux, darwin]",
    }),
  ),
  requires: Type.Object(
    { bins: names(), anyBins: names(), env: names(), config: names() },
    { default: {}, expected: "a map with bins, anyBins, env or config" },
  ),
  /** Skips the requirements, except that on the operating system. */
  always: Type.Boolean(flag),
  homepage: text("an address"),
  emoji: text("a text"),
});
export type HookMeta = Static<typeof schema>;
export const fields: Readonly<Record<string, TSchema>> = schema.properties;

/** About ten times the length of normal front matter. */
const MAX_CHARS = 10_000;

type Values = Record<string, unknown>;
/** A map that may have fields, and its path. */
type Layer = { at: readonly string[]; values: Values };
type FindLine = (path: readonly string[]) => number;

/** Parses the text of a `HOOK.md`. Throws a `LoadError` with its line. */
export function parseHookMd(source: string): FrontMatter {
  const text = source.replaceAll("\r\n", "\n").replace(/^\uFEFF/, "");
  const [, kind] = /^---[ \t]*(\S*)/.exec(text) ?? [];
  if (kind === undefined)
    throw createError(
      "HOOK.md must begin with front matter: a line ---, YAML, and another line ---",
      1,
    );
  if (kind) {
    const message = `front matter of the kind "${kind}" is not supported: HOOK.md needs YAML between two lines of ---`;
    throw createError(message, 1);
  }
  const end = text.search(/\n---[ \t]*(\n|$)/);
  // The run time of gray-matter is quadratic in the number of blank lines.
  if (end > MAX_CHARS)
    throw createError(`the front matter is longer than ${MAX_CHARS} characters`, 1);
  if (end < 0)
    throw createError(
      "the front matter is not closed: a second line --- is missing",
      text.split("\n").length,
    );
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  let document: Document | undefined;
  // The block begins with the rest of the first line, so its line numbers are those of the file.
  const yaml = (block: string): Values => {
    document = parseDocument(block, { lineCounter: lines, schema: "core", prettyErrors: false });
    const [error] = document.errors;
    if (error) throw createError(`not valid YAML: ${error.message}`, lineAt(error.pos[0]));
    return readValues(document);
  };
  const { data } = matter(text, { language: "yaml", engines: { yaml: { parse: yaml } } });
  return validate(data, (path) => {
    for (let length = path.length; document && length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as
        | { range?: [number, number, number] }
        | undefined;
      if (node?.range) return lineAt(node.range[0]);
    }
    return 1;
  });
}

function readValues(document: Document): Values {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch {
    throw createError("YAML aliases (*name) are not allowed in front matter", 1);
  }
  if (isRecord(value)) return value;
  throw createError("front matter must be a map of keys and values", 2);
}

function validate(top: Values, findLine: FindLine): FrontMatter {
  const layers = [{ at: [], values: top }, ...metadataLayers(top["metadata"], findLine)];
  const describeUnknownKeys = (
    values: unknown,
    knownKeys: readonly string[],
    at: readonly string[] = [],
  ): string[] => {
    const keys = Object.keys(isRecord(values) ? values : {}).filter(
      (key) => !knownKeys.includes(key),
    );
    return keys.map((key) => {
      const suggestion = didYouMean(key, knownKeys);
      const path = [...at, key];
      return `unknown key "${path.join(".")}" (line ${findLine(path)})${suggestion ? `; did you mean "${suggestion}"?` : ""}`;
    });
  };
  const warnings = describeUnknownKeys(top, [...Object.keys(fields), "metadata"]);
  // Takes each field from the first layer that has it.
  const values: Values = {};
  const fieldPaths: Record<string, readonly string[]> = {};
  for (const [field, fieldSchema] of Object.entries(fields)) {
    const layer = layers.find(({ values }) => (values[field] ?? undefined) !== undefined);
    if (!layer) continue;
    fieldPaths[field] = [...layer.at, field];
    values[field] = normalizeLists(layer.values[field], fieldSchema);
  }
  warnings.push(
    ...describeUnknownKeys(
      values["requires"],
      Object.keys(schema.properties.requires.properties),
      fieldPaths["requires"],
    ),
  );
  const completeValues = fillDefaults(schema, values, "nulls");
  const [problem] = problemsIn(Errors(schema, [], completeValues), completeValues);
  if (problem) {
    const [field = "", member] = problem.path.map(String);
    const memberSchema = (fields[field]?.["properties"] as Record<string, TSchema> | undefined)?.[
      member ?? ""
    ];
    const path = [...(fieldPaths[field] ?? [field]), ...(memberSchema && member ? [member] : [])];
    const { expected } = (memberSchema ?? fields[field] ?? {}) as { expected?: string };
    throw createError(`"${path.join(".")}" must be ${expected}`, findLine(path));
  }
  const meta = completeValues as HookMeta;
  // Packs name a whole kind of events (`command`); at the top level, a name is used literally.
  const isPack = !top["events"];
  meta.events = [
    ...new Set(meta.events.map((event) => (isPack && !event.includes(":") ? `${event}:*` : event))),
  ];
  if (meta.events.length > 0) return { meta, warnings };
  const message =
    '"events" is missing: name the events that the hook handles, such as events: [message:received]';
  throw createError(message, 1);
}

/** Normalizes lists: a single name becomes a list, also in nested fields. Trims names, and drops null members. */
function normalizeLists(value: unknown, fieldSchema: TSchema | undefined): unknown {
  if (fieldSchema?.["type"] === "array")
    return [value].flat().map((item) => (typeof item === "string" ? item.trim() : item));
  const members = fieldSchema?.["properties"] as Record<string, TSchema> | undefined;
  if (!members || !isRecord(value)) return value;
  const present = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    present.map(([key, member]) => [key, normalizeLists(member, members[key])]),
  );
}

/**
 * Returns the maps in `metadata` that may have fields, Portico's own before others. `metadata` may be a map or JSON in
 * a string.
 */
function metadataLayers(metadata: unknown, findLine: FindLine): Layer[] {
  let value = metadata ?? undefined;
  if (value === undefined) return [];
  if (typeof value === "string") {
    // JSON is valid YAML, and so are the deviations from JSON that packs contain.
    const nested = parseDocument(value, { schema: "core", prettyErrors: false });
    if (nested.errors.length > 0)
      throw createError('"metadata" is a string, but not valid JSON', findLine(["metadata"]));
    value = readValues(nested);
  }
  if (!isRecord(value)) throw createError('"metadata" must be a map', findLine(["metadata"]));
  const layers = Object.entries(value)
    .sort(([a], [b]) => Number(b === "portico") - Number(a === "portico"))
    // "requires" directly under metadata is a field, not a namespace.
    .flatMap(([key, values]) =>
      isRecord(values) && !Object.hasOwn(fields, key) ? [{ at: ["metadata", key], values }] : [],
    );
  return [...layers, { at: ["metadata"], values: value }];
}
