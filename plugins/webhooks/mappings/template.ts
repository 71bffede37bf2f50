/** Templates: `{body.a.b}`, `{headers.x}`, `{query.x}`, `{json body.a}`. Other braces stay as they are. */
import { lookUp, type Path, readPath, type Request } from "./paths.ts";

export interface Rendered {
  text: string;
  /** Placeholders for which the request has no value. */
  missing: string[];
}

export interface Template {
  readonly source: string;
  /** The owner's words alone: `[…]` stands for each value from outside. */
  readonly outline: string;
  /** True where nothing of a request goes into it. */
  readonly isFixed: boolean;
  render(request: Request): Rendered;
}

type Part = string | { path: Path; json: boolean; placeholder: string };

const PLACEHOLDER = /\{(json\s+)?((?:body|headers|query)(?:\.[^\s.[\]{}"']+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*)\}/g;

export function readTemplate(source: string): Template {
  const parts: Part[] = [];
  let at = 0;
  for (const found of source.matchAll(PLACEHOLDER)) {
    const path = readPath(found[2] ?? "");
    if (!path) continue;
    parts.push(source.slice(at, found.index), { path, json: found[1] !== undefined, placeholder: found[0] });
    at = found.index + found[0].length;
  }
  parts.push(source.slice(at));
  return {
    source,
    outline: parts.map((part) => (typeof part === "string" ? part : "[…]")).join(""),
    isFixed: parts.length === 1,
    render(request) {
      const missing: string[] = [];
      const texts = parts.map((part) => {
        if (typeof part === "string") return part;
        const value = lookUp(request, part.path);
        if (value === undefined) missing.push(part.placeholder);
        return part.json ? (JSON.stringify(value, null, 2) ?? "") : shown(value);
      });
      return { text: texts.join(""), missing };
    },
  };
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
