/**
 * Paths into JSON values: `data.items`, `results[0].rows`, `rows[*].id`, `["a b"].c`. They may begin with `$`. Only own
 * properties are read.
 */

/** Stands for every entry of a list. */
const EACH = Symbol("[*]");

/** The steps of a path: names, positions in lists, or all entries. An empty path is the value itself. */
export type ValuePath = readonly (string | number | typeof EACH)[];

const STEP =
  /(?:^|(?<=.)\.)([^.[\]]+)|\[(\d+)\]|(\[\*\])|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]|\[([^[\]"'*]+)\]/y;

/** Parses a path. Returns undefined for an invalid one, such as `a..b`, `a[` or `.a`. */
export function readPath(text: string): ValuePath | undefined {
  const bare = text.trim().replace(/^\$(?:$|\.(?=.)|(?=\[))/, "");
  const path: (string | number | typeof EACH)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < bare.length) {
    const step = STEP.exec(bare);
    if (!step) return undefined;
    const [, name, position, each, quoted, bracketed] = step;
    if (each !== undefined) path.push(EACH);
    else if (position !== undefined) path.push(Number(position));
    else if (quoted !== undefined) path.push(quoted.slice(1, -1).replace(/\\(.)/g, "$1"));
    else path.push((name ?? bracketed) as string);
  }
  return path;
}

/** True if the path contains `[*]`, so that its value is a list. */
export function isForEach(path: ValuePath): boolean {
  return path.includes(EACH);
}

/** Returns the value at a path, or undefined if nothing is there. */
export function valueAt(value: unknown, path: ValuePath): unknown {
  let current = value;
  for (const [index, step] of path.entries()) {
    if (step === EACH) {
      if (!Array.isArray(current)) return undefined;
      const rest = path.slice(index + 1);
      return current.map((entry) => valueAt(entry, rest));
    }
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step))
      return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}
