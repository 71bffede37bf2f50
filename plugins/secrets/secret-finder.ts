/**
 * Finds secrets in a text: as they are, escaped as in JSON (also twice) or HTML, percent-encoded, or in base64. The text is
 * unescaped and looked through, for a pattern of all writings of each character grows too large where a token has some
 * thousand of them.
 */

/** From the first character to behind the last. */
export type Range = readonly [from: number, to: number];

/** Characters that HTML has names for, by their names in small letters. */
const NAMED: Record<string, string> = {
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
/** One escaped character. The counts are bounded: an endless run of backslashes is not gone through again from each. */
const ESCAPED = new RegExp(
  [
    "%(?:25)?([2-7][\\da-f])",
    "\\\\{1,4}(?:u00|x)([2-7][\\da-f])",
    "\\\\{1,4}u\\{0{0,4}([2-7][\\da-f])\\}",
    '\\\\{1,4}(["\\\\/])',
    `&(?:amp;)?(?:#(?:0{0,4}(\\d{2,3})|x0{0,4}([2-7][\\da-f]))|(${Object.keys(NAMED).join("|")}));`,
  ].join("|"),
  "gi",
);
/** Quick: without one of these nothing is escaped. */
const ESCAPES = /[%\\&]/;

interface Unescaped {
  text: string;
  /** Where each of its characters begins in the text as it was, and where the last ends. */
  at: Uint32Array;
}

export class SecretFinder {
  readonly #plain: readonly string[];
  /** Unescaped as texts are: some look like an escape themselves. */
  readonly #unescaped: readonly string[];
  readonly #base64: readonly string[];
  /** Upstreams write headers, and what was in them, in any case. Also in hexadecimal digits. */
  readonly #lower: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#plain = secrets;
    this.#unescaped = [...new Set(secrets.map((secret) => unescaped(secret)?.text ?? secret))];
    this.#base64 = [...new Set(secrets.flatMap(base64Writings))];
    this.#lower = [
      ...new Set(
        secrets.flatMap((secret) => [inLowerCase(secret), Buffer.from(secret).toString("hex")]),
      ),
    ];
  }

  /** Ranges that do not overlap, in their order. */
  find(text: string): Range[] {
    const found: Range[] = [];
    const take = (from: number, to: number) => void found.push([from, to]);
    collect(text, this.#plain, take);
    collect(inLowerCase(text), this.#lower, take);
    collect(inStandardAlphabet(text), this.#base64, take);
    const other = unescaped(text);
    if (other !== undefined) {
      const takeFrom = (from: number, to: number) => take(other.at[from]!, other.at[to]!);
      collect(other.text, this.#unescaped, takeFrom);
      collect(inStandardAlphabet(other.text), this.#base64, takeFrom);
    }
    return found.length < 2 ? found : merged(found);
  }
}

function collect(
  text: string,
  needles: readonly string[],
  take: (from: number, to: number) => void,
): void {
  for (const needle of needles) {
    if (needle.length > text.length) continue;
    for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
      take(at, at + needle.length);
  }
}

function merged(ranges: Range[]): Range[] {
  const out: Range[] = [];
  for (const [from, to] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last === undefined || from >= last[1]) out.push([from, to]);
    else if (to > last[1]) out[out.length - 1] = [last[0], to];
  }
  return out;
}

/** Undefined where nothing is escaped. */
function unescaped(text: string): Unescaped | undefined {
  if (!ESCAPES.test(text)) return undefined;
  const at = new Uint32Array(text.length + 1);
  let out = "";
  let done = 0;
  const copy = (to: number): void => {
    for (let i = done; i < to; i++) at[out.length + i - done] = i;
    out += text.slice(done, to);
    done = to;
  };
  for (const found of text.matchAll(ESCAPED)) {
    const char = charOf(found);
    if (char === undefined) continue;
    copy(found.index);
    at[out.length] = found.index;
    out += char;
    done = found.index + found[0].length;
  }
  copy(text.length);
  at[out.length] = text.length;
  return { text: out, at };
}

/** Undefined for what is no printable ASCII. */
function charOf([, percent, escaped, braced, slashed, decimal, hex, name]: RegExpMatchArray):
  | string
  | undefined {
  if (slashed !== undefined) return slashed;
  if (name !== undefined) return NAMED[name.toLowerCase()];
  const code =
    decimal === undefined
      ? Number.parseInt((percent ?? escaped ?? braced ?? hex)!, 16)
      : Number(decimal);
  return code >= 32 && code <= 126 ? String.fromCharCode(code) : undefined;
}

/** The secret, and the secret in JSON, within any text in base64 of the standard alphabet. */
export function base64Writings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1)].flatMap(inBase64);
}

/** What base64 makes of the secret wherever in a text it stands: the characters that hold nothing of its neighbours. */
function inBase64(secret: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    return bytes
      .toString("base64")
      .slice(before === 0 ? 0 : before + 1, Math.floor((bytes.length * 4) / 3));
  });
}

/** Of ASCII alone: other letters may become longer. */
function inLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function inStandardAlphabet(text: string): string {
  return text.replaceAll("-", "+").replaceAll("_", "/");
}
