/**
 * Finds secrets in a text: unchanged, escaped as in JSON (also twice) or HTML, percent-encoded, or in base64. It unescapes
 * the text and searches it, since a pattern of all encodings of each character grows too large for a token of some thousand
 * characters.
 */

/** The index of the first character and the index behind the last one. */
export type Range = readonly [from: number, to: number];

/** ASCII characters by the name that HTML gives them, in lower case. */
const NAMED_CHARACTERS: Record<string, string> = {
  ...{
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    excl: "!",
    num: "#",
    dollar: "$",
    percnt: "%",
    lpar: "(",
  },
  ...{
    rpar: ")",
    ast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    equals: "=",
  },
  ...{
    quest: "?",
    commat: "@",
    lsqb: "[",
    lbrack: "[",
    bsol: "\\",
    rsqb: "]",
    rbrack: "]",
    hat: "^",
    lowbar: "_",
  },
  ...{ grave: "`", lcub: "{", lbrace: "{", verbar: "|", vert: "|", rcub: "}", rbrace: "}" },
};
/** One escaped character. The counts are bounded, so that a long run of backslashes takes linear time. */
const ESCAPED = new RegExp(
  [
    "%(?:25)?([2-7][\\da-f])",
    "\\\\{1,4}(?:u00|x)([2-7][\\da-f])",
    "\\\\{1,4}u\\{0{0,4}([2-7][\\da-f])\\}",
    '\\\\{1,4}(["\\\\/])',
    `&(?:amp;)?(?:#(?:0{0,4}(\\d{2,3})|x0{0,4}([2-7][\\da-f]))|(${Object.keys(NAMED_CHARACTERS).join("|")}));`,
  ].join("|"),
  "gi",
);
/** A quick check: a text without one of these holds no escape. */
const ESCAPE_SIGNS = /[%\\&]/;

interface Unescaped {
  text: string;
  /** The index in the original text at which each character begins, and finally the one at which the last one ends. */
  offsets: Uint32Array;
}

export class SecretFinder {
  readonly #plain: readonly string[];
  /** The secrets after unescaping, since a secret may itself look like an escape. */
  readonly #unescaped: readonly string[];
  readonly #base64: readonly string[];
  /** The secrets in lower case, since upstreams may change the case of headers, and in hexadecimal digits. */
  readonly #lowerCase: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#plain = secrets;
    this.#unescaped = [...new Set(secrets.map((secret) => unescapeText(secret)?.text ?? secret))];
    this.#base64 = [...new Set(secrets.flatMap(base64Forms))];
    this.#lowerCase = [
      ...new Set(
        secrets.flatMap((secret) => [toLowerAscii(secret), Buffer.from(secret).toString("hex")]),
      ),
    ];
  }

  /** Returns the ranges of all secrets, in order and without overlaps. */
  find(text: string): Range[] {
    const ranges: Range[] = [];
    const add = (from: number, to: number) => void ranges.push([from, to]);
    searchAll(text, this.#plain, add);
    searchAll(toLowerAscii(text), this.#lowerCase, add);
    searchAll(toStandardBase64(text), this.#base64, add);
    const decoded = unescapeText(text);
    if (decoded !== undefined) {
      const { offsets } = decoded;
      const addOriginal = (from: number, to: number) => add(offsets[from]!, offsets[to]!);
      searchAll(decoded.text, this.#unescaped, addOriginal);
      searchAll(toStandardBase64(decoded.text), this.#base64, addOriginal);
    }
    return ranges.length < 2 ? ranges : merge(ranges);
  }
}

function searchAll(
  text: string,
  needles: readonly string[],
  add: (from: number, to: number) => void,
): void {
  for (const needle of needles) {
    if (needle.length > text.length) continue;
    for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
      add(at, at + needle.length);
  }
}

function merge(ranges: Range[]): Range[] {
  const out: Range[] = [];
  for (const [from, to] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last === undefined || from >= last[1]) out.push([from, to]);
    else if (to > last[1]) out[out.length - 1] = [last[0], to];
  }
  return out;
}

/** Replaces each escaped character of a text. Returns undefined if the text cannot hold an escape. */
function unescapeText(text: string): Unescaped | undefined {
  if (!ESCAPE_SIGNS.test(text)) return undefined;
  const offsets = new Uint32Array(text.length + 1);
  let out = "";
  let done = 0;
  const copy = (to: number): void => {
    for (let i = done; i < to; i++) offsets[out.length + i - done] = i;
    out += text.slice(done, to);
    done = to;
  };
  for (const match of text.matchAll(ESCAPED)) {
    const character = decodeMatch(match);
    if (character === undefined) continue;
    copy(match.index);
    offsets[out.length] = match.index;
    out += character;
    done = match.index + match[0].length;
  }
  copy(text.length);
  offsets[out.length] = text.length;
  return { text: out, offsets };
}

/** Returns the character of an escape; undefined if it is not printable ASCII. */
function decodeMatch([, percent, escaped, braced, slashed, decimal, hex, name]: RegExpMatchArray):
  | string
  | undefined {
  if (slashed !== undefined) return slashed;
  if (name !== undefined) return NAMED_CHARACTERS[name.toLowerCase()];
  const code =
    decimal === undefined
      ? Number.parseInt((percent ?? escaped ?? braced ?? hex)!, 16)
      : Number(decimal);
  return code >= 32 && code <= 126 ? String.fromCharCode(code) : undefined;
}

/** Returns what the secret, plain or escaped in JSON, looks like within a text in base64 of the standard alphabet. */
export function base64Forms(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1)].flatMap(inBase64);
}

/** Encodes the secret at each of the three alignments, and keeps the characters that hold no bits of its neighbours. */
function inBase64(secret: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    return bytes
      .toString("base64")
      .slice(before === 0 ? 0 : before + 1, Math.floor((bytes.length * 4) / 3));
  });
}

/** Changes ASCII letters only: others may become longer in lower case. */
function toLowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function toStandardBase64(text: string): string {
  return text.replaceAll("-", "+").replaceAll("_", "/");
}
