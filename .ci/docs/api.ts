/**
 * Generates the reference of the modules that authors import: a page for `portico` and for each face, from the sources
 * with their doc comments. A face that exports a name which cannot be found fails the build.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";
import { packageDir } from "../build/common.ts";
import type { Page } from "./pages.ts";

interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

interface ExportedName {
  name: string;
  /** The text of its doc comment, without the comment markers. */
  documentation: string;
  /** The declaration without its body; undefined for a name that another package exports. */
  signature?: string;
  /** The package that it comes from, if it is not Portico. */
  from?: string;
}

export function apiPages(): Page[] {
  const { exports } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string } | string>;
  };
  const faces = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "object" && target.types ? [[path, target.types] as const] : [],
  );
  return faces.map(([path, types]) => {
    const specifier = path.replace(/^\./, "portico");
    const source = findSource(types);
    return {
      url: `api/${specifier.replace("/", "-")}`,
      source,
      group: "API",
      markdown: renderPage(specifier, join(packageDir, source)),
    };
  });
}

/**
 * Returns the source of a declaration file: `./.build/types/plugins/agent/index.d.ts` is generated from
 * `plugins/agent/index.ts`, and that of `portico` from `kernel/index.ts`.
 */
function findSource(types: string): string {
  const path = types.replace("./.build/types/", "").replace(/\.d\.ts$/, ".ts");
  return path.startsWith("plugins/") ? path : join("kernel", path);
}

function renderPage(specifier: string, file: string): string {
  const names = [...moduleAt(file).exportedNames()].sort((a, b) => a.name.localeCompare(b.name));
  const sections = names.map(({ name, documentation, signature, from }) => {
    const origin = from === undefined ? "" : `From the package \`${from}\`.\n\n`;
    const code = signature === undefined ? "" : `\`\`\`ts\n${signature}\n\`\`\`\n`;
    return `## ${name}\n\n${documentation}\n\n${origin}${code}`;
  });
  const faces = moduleAt(file).republishedFaces();
  const republished =
    faces.length === 0 ? "" : `It also exports everything of \`${faces.join("`, `")}\`.\n\n`;
  const introduction = moduleAt(file).documentation();
  return `# ${specifier}\n\n${introduction}\n\n${republished}${sections.join("\n")}`;
}

const modules = new Map<string, SourceModule>();

function moduleAt(file: string): SourceModule {
  const loaded = modules.get(file);
  if (loaded) return loaded;
  const module = new SourceModule(file);
  modules.set(file, module);
  return module;
}

/** A source file with its exports and their declarations. */
class SourceModule {
  readonly #file: string;
  readonly #text: string;
  readonly #body: Node[];
  readonly #comments: readonly { value: string; start: number; end: number }[];

  constructor(file: string) {
    this.#file = file;
    this.#text = readFileSync(file, "utf8");
    const { program, comments } = parseSync(file, this.#text);
    this.#body = program.body as unknown as Node[];
    this.#comments = comments;
  }

  /** Returns the comment at the top of the file. */
  documentation(): string {
    const [first] = this.#comments;
    const isAtTop = first !== undefined && this.#text.slice(0, first.start).trim() === "";
    return isAtTop && first.value.startsWith("*") ? textOfComment(first.value) : "";
  }

  /** Returns the faces whose names this one exports as well. */
  republishedFaces(): string[] {
    const all = this.#body.filter(({ type }) => type === "ExportAllDeclaration");
    return all.map(sourceText).filter((specifier) => !specifier.startsWith("."));
  }

  *exportedNames(): Generator<ExportedName> {
    for (const node of this.#body) {
      if (isOwnModule(node)) yield* this.#moduleOf(node).exportedNames();
      if (node.type !== "ExportNamedDeclaration") continue;
      const declaration = node["declaration"] as Node | null;
      if (declaration) {
        for (const name of declaredNames(declaration))
          yield this.#describe(name, declaration, node);
      }
      for (const { local, exported } of specifiersOf(node))
        yield { ...this.#resolve(local, node), name: exported };
    }
  }

  /** Finds the declaration of a name: here, or in the module that `exporting` or an import names. */
  #resolve(local: string, exporting?: Node): ExportedName {
    if (exporting?.["source"]) return this.#importedName(local, exporting);
    for (const node of this.#body) {
      const declaration = (node["declaration"] as Node | null | undefined) ?? node;
      if (declaredNames(declaration).includes(local))
        return this.#describe(local, declaration, node);
      const specifier = specifiersOf(node).find((candidate) => candidate.exported === local);
      if (node.type === "ImportDeclaration" && specifier)
        return this.#importedName(specifier.local, node);
      if (node.type === "ExportNamedDeclaration" && node["source"] && specifier)
        return this.#importedName(specifier.local, node);
    }
    const names = this.#body
      .filter(isOwnModule)
      .flatMap((node) => [...this.#moduleOf(node).exportedNames()]);
    const entry = names.find(({ name }) => name === local);
    if (entry) return entry;
    throw new Error(`${relative(packageDir, this.#file)} declares no ${local}.`);
  }

  #importedName(name: string, node: Node): ExportedName {
    const specifier = sourceText(node);
    if (specifier.startsWith(".")) return this.#moduleOf(node).#resolve(name);
    if (!specifier.startsWith("portico")) return { name, documentation: "", from: specifier };
    return { name, documentation: `The same as in \`${specifier}\`.` };
  }

  #moduleOf(node: Node): SourceModule {
    return moduleAt(join(dirname(this.#file), sourceText(node)));
  }

  #describe(name: string, declaration: Node, statement: Node): ExportedName {
    const documentation = this.#commentBefore(statement.start);
    return { name, documentation, signature: this.#signatureOf(declaration) };
  }

  #commentBefore(start: number): string {
    const comment = this.#comments.findLast(
      ({ value, end }) =>
        end <= start && value.startsWith("*") && this.#text.slice(end, start).trim() === "",
    );
    return comment === undefined ? "" : textOfComment(comment.value);
  }

  /** Returns the source of a declaration, without the bodies of functions and without private members. */
  #signatureOf(node: Node): string {
    if (node.type === "FunctionDeclaration") return this.#upTo(node, node["body"] as Node | null);
    if (node.type === "ClassDeclaration") return this.#classSignature(node);
    if (node.type !== "VariableDeclaration") return this.#text.slice(node.start, node.end);
    const [declarator] = node["declarations"] as Node[];
    const value = declarator?.["init"] as Node | null;
    if (value?.type === "ArrowFunctionExpression") return this.#upTo(node, value["body"] as Node);
    const isShort = value !== null && node.end - node.start <= MAX_CONSTANT_LENGTH;
    const end = isShort || !value ? node.end : value.start;
    return this.#text.slice(node.start, end).replace(/\s*=\s*$/, "");
  }

  #upTo(node: Node, body: Node | null): string {
    const text = this.#text.slice(node.start, body?.start ?? node.end);
    return text.replace(/\s*(?:=>|\{|=)\s*$/, "").trimEnd();
  }

  #classSignature(node: Node): string {
    const body = node["body"] as Node & { body: Node[] };
    const members = body.body.filter(isPublicMember).map((member) => {
      const comment = this.#commentBefore(member.start);
      const lines = comment === "" ? "" : `  /** ${comment.replaceAll("\n", "\n   * ")} */\n`;
      const value = member["value"] as (Node & { body?: Node | null }) | null;
      return `${lines}  ${this.#upTo(member, value?.body ?? null)};`;
    });
    return `${this.#text.slice(node.start, body.start)}{\n${members.join("\n")}\n}`;
  }
}

/** The reference shows only the name and type of a longer constant. */
const MAX_CONSTANT_LENGTH = 120;

function isPublicMember({ accessibility, key }: Node): boolean {
  const isHidden = (key as Node | undefined)?.type === "PrivateIdentifier";
  return !isHidden && accessibility !== "private" && accessibility !== "protected";
}

function declaredNames(node: Node): string[] {
  if (node.type === "VariableDeclaration")
    return (node["declarations"] as Node[]).flatMap(({ id }) => nameOf(id as Node) ?? []);
  const isDeclaration = /^(?:Function|Class|TSInterface|TSTypeAlias|TSEnum)/.test(node.type);
  return isDeclaration ? [nameOf(node["id"] as Node) ?? ""] : [];
}

/** Returns the names in `{ a as b }`. In an export, `exported` is b; in an import, it is the name that is used here. */
function specifiersOf(node: Node): { local: string; exported: string }[] {
  const specifiers = (node["specifiers"] as Node[] | undefined) ?? [];
  return specifiers.flatMap((specifier) => {
    const [inner, outer] =
      node.type === "ImportDeclaration"
        ? [specifier["imported"], specifier["local"]]
        : [specifier["local"], specifier["exported"]];
    const [local, exported] = [nameOf(inner as Node), nameOf(outer as Node)];
    return local === undefined || exported === undefined ? [] : [{ local, exported }];
  });
}

function nameOf(node: Node | undefined | null): string | undefined {
  return node?.type === "Identifier" ? String(node["name"]) : undefined;
}

/** Whether a statement is like `export * from "./file.ts"`. */
const isOwnModule = (node: Node): boolean =>
  node.type === "ExportAllDeclaration" && sourceText(node).startsWith(".");

const sourceText = (node: Node): string => String((node["source"] as Node)["value"]);

/** Returns the text of a doc comment. Examples become code blocks. */
function textOfComment(comment: string): string {
  const text = comment
    .replace(/^\*/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
  return text.replace(/@example\n([\s\S]*?)(?=\n@|$)/g, "```ts\n$1\n```");
}
