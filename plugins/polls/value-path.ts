/** `a.b[0].c` and `a[*].b` in a value; only own properties are read. */
function parsePath(path: string): (string | number | "*")[] {
  const bare = path.trim().replace(/^\$\.?/, "");
  if (bare === "") return [];
  const parts: (string | number | "*")[] = [];
  for (const [, name, index] of bare.matchAll(/([^.[\]]+)|\[([^[\]]*)\]/g)) {
    if (name !== undefined) parts.push(name);
    else if (index === "*") parts.push("*");
    else
      parts.push(
        /^\d+$/.test(index ?? "") ? Number(index) : (index ?? "").replace(/^["']|["']$/g, ""),
      );
  }
  return parts;
}

/** The value at a path; `undefined` where it leads nowhere. `[*]` answers a list. */
export function valueAt(value: unknown, path: string): unknown {
  return walk(value, parsePath(path));
}

function walk(value: unknown, parts: readonly (string | number)[]): unknown {
  let at = value;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (part === "*") {
      if (!Array.isArray(at)) return undefined;
      const rest = parts.slice(i + 1);
      return at.map((one) => walk(one, rest));
    }
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}
