/**
 * A short text that a regular expression matches, made from the expression itself: each part contributes the least that
 * it takes. Looks ahead count as what they look for, other assertions as nothing, so the text has to be checked.
 */

type Node =
  | { kind: "text"; text: string }
  | { kind: "set"; has: (char: string) => boolean; named: readonly string[]; size: number }
  | { kind: "all"; parts: Node[] }
  | { kind: "any"; options: Node[] }
  | { kind: "repeat"; part: Node; least: number; most: number }
  | { kind: "group"; part: Node; key: string }
  | { kind: "back"; key: string };

interface Wish {
  /** The text should be as long as this, where a repetition lets it. */
  least: number;
  /** Which of the fitting characters and alternatives: 0 for the simplest. */
  pick: number;
}

const SIMPLE = [..."aA0b1_- .@/:"];
const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
const CANDIDATES = [...new Set([...SIMPLE, ...PRINTABLE, ..."\t\n\réßЖא中"])];
const MOST_NESTED = 50;
/** Members of a set that are tried beside the candidates: each is held against every member. */
const MOST_NAMED = 100;

/** `take` throws a `SyntaxError` after too many steps. Undefined then, and for what is no pattern or nested too deeply. */
export function patternText(
  pattern: string,
  wish: Wish,
  take: (amount: number) => void,
): string | undefined {
  try {
    take(pattern.length);
    const tree = parse(pattern);
    const write = (missing: number) => written(tree, wish, { missing, groups: new Map(), take });
    const shortest = write(0);
    const missing = wish.least - shortest.length;
    return missing <= 0 ? shortest : write(missing);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

interface Writing {
  take(amount: number): void;
  /** Characters that the next repetition that can should add. */
  missing: number;
  groups: Map<string, string>;
}

function written(node: Node, wish: Wish, state: Writing): string {
  const write = (part: Node) => written(part, wish, state);
  /** To see what comes of it. */
  const tried = (part: Node) =>
    written(part, wish, { ...state, missing: 0, groups: new Map(state.groups) });
  state.take(1);
  switch (node.kind) {
    case "text":
      return node.text;
    case "set": {
      state.take(node.size);
      const fitting = CANDIDATES.concat(node.named).filter(node.has);
      return fitting[wish.pick % fitting.length] ?? "";
    }
    case "all":
      return node.parts.map(write).join("");
    case "any": {
      const texts = node.options.map(tried);
      const order = texts.map((_, i) => i).sort((a, b) => texts[a]!.length - texts[b]!.length);
      return write(node.options[order[wish.pick % order.length]!]!);
    }
    case "repeat": {
      let times = node.least;
      if (state.missing > 0 && node.most > times) {
        const { length } = tried(node.part);
        const more =
          length === 0 ? 0 : Math.min(node.most - times, Math.ceil(state.missing / length));
        times += more;
        state.missing -= more * length;
      }
      const one = times === 0 ? "" : write(node.part);
      state.take(one.length * times);
      return one.repeat(times);
    }
    case "group": {
      const text = write(node.part);
      state.groups.set(node.key, text);
      return text;
    }
    case "back":
      return state.groups.get(node.key) ?? "";
  }
}

const CLASSES: Record<string, RegExp> = { d: /\d/, D: /\D/, w: /\w/, W: /\W/, s: /\s/, S: /\S/ };
const CONTROLS: Record<string, string> = { t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", 0: "\0" };

function parse(pattern: string): Node {
  let at = 0;
  let groups = 0;
  let depth = 0;

  const bad = () => new SyntaxError("not a pattern");
  const next = () => {
    const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (at >= pattern.length) throw bad();
    at += char.length;
    return char;
  };
  const eat = (text: string) => {
    const isThere = pattern.startsWith(text, at);
    if (isThere) at += text.length;
    return isThere;
  };
  const match = (expression: RegExp) => {
    expression.lastIndex = at;
    const found = expression.exec(pattern);
    if (found) at += found[0].length;
    return found;
  };

  function alternatives(): Node {
    if (++depth > MOST_NESTED) throw bad();
    const options = [sequence()];
    while (eat("|")) options.push(sequence());
    depth--;
    return options.length === 1 ? options[0]! : { kind: "any", options };
  }

  function sequence(): Node {
    const parts: Node[] = [];
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")")
      parts.push(repeated(atom()));
    return { kind: "all", parts };
  }

  function repeated(part: Node): Node {
    const found = match(/(?:([*+?])|\{(\d{1,6})(,(\d{0,6}))?\})\??/y);
    if (!found) return part;
    const [, sign, least, comma, most] = found;
    if (sign !== undefined)
      return {
        kind: "repeat",
        part,
        least: sign === "+" ? 1 : 0,
        most: sign === "?" ? 1 : Number.POSITIVE_INFINITY,
      };
    return {
      kind: "repeat",
      part,
      least: Number(least),
      most: comma === undefined ? Number(least) : most ? Number(most) : Number.POSITIVE_INFINITY,
    };
  }

  function atom(): Node {
    const char = next();
    switch (char) {
      case "^":
      case "$":
        return { kind: "all", parts: [] };
      case ".":
        return { kind: "set", has: (one) => one !== "\n" && one !== "\r", named: [], size: 1 };
      case "(":
        return group();
      case "[":
        return set();
      case "\\":
        return escaped();
      default:
        return { kind: "text", text: char };
    }
  }

  function group(): Node {
    const kind = match(/\?(?:[a-z-]*:|(=|!|<=|<!)|<(\w+)>)/y);
    const [, sign, name] = kind ?? [];
    const key = kind === null || name !== undefined ? String(++groups) : undefined;
    const part = alternatives();
    if (!eat(")")) throw bad();
    if (sign === "!" || sign === "<!" || sign === "<=") return { kind: "all", parts: [] };
    if (key === undefined) return part;
    const numbered: Node = { kind: "group", part, key };
    return name === undefined ? numbered : { kind: "group", part: numbered, key: name };
  }

  function escaped(): Node {
    const char = next();
    if (char === "b" || char === "B") return { kind: "all", parts: [] };
    if (/[1-9]/.test(char)) return { kind: "back", key: char };
    if (char === "k") return { kind: "back", key: match(/<(\w+)>/y)?.[1] ?? "" };
    const one = charOf(char);
    return typeof one === "string"
      ? { kind: "text", text: one }
      : { kind: "set", has: one, named: [], size: 1 };
  }

  /** What stands behind a backslash: a character, or a class of them. */
  function charOf(char: string): string | ((one: string) => boolean) {
    const known = CLASSES[char];
    if (known) return (one) => known.test(one);
    if (char === "p" || char === "P") {
      const name = match(/\{[\w=]+\}/y)?.[0];
      if (name === undefined) throw bad();
      const property = new RegExp(`\\${char}${name}`, "u");
      return (one) => property.test(one);
    }
    const code = char === "x" ? match(/[\da-f]{2}/iy)?.[0] : char === "u" ? hex() : undefined;
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
    if (char === "c") return String.fromCharCode(next().charCodeAt(0) & 31);
    return CONTROLS[char] ?? char;
  }

  function hex(): string | undefined {
    const found = match(/([\da-f]{4})|\{([\da-f]{1,5})\}/iy);
    return found?.[1] ?? found?.[2];
  }

  function set(): Node {
    const isNegated = eat("^");
    const tests: ((one: string) => boolean)[] = [];
    const named: string[] = [];
    while (!eat("]")) {
      const low = member();
      const isRange = typeof low === "string" && pattern[at + 1] !== "]" && eat("-");
      const high = isRange ? member() : low;
      if (typeof low === "string" && typeof high === "string") {
        if (named.length < MOST_NAMED) named.push(low);
        tests.push(
          (one) =>
            one.codePointAt(0)! >= low.codePointAt(0)! &&
            one.codePointAt(0)! <= high.codePointAt(0)!,
        );
      } else for (const test of [low, high]) if (typeof test !== "string") tests.push(test);
    }
    const has = (one: string) => tests.some((test) => test(one)) !== isNegated;
    return { kind: "set", has, named, size: tests.length };
  }

  function member(): string | ((one: string) => boolean) {
    const char = next();
    if (char !== "\\") return char;
    const escapedChar = next();
    return escapedChar === "b" ? "\b" : charOf(escapedChar);
  }

  const tree = alternatives();
  if (at < pattern.length) throw bad();
  return tree;
}
