/**
 * Masks secrets in data from upstreams, which may echo the key that they received: unchanged, escaped as in JSON (also
 * twice) or HTML, percent-encoded, or in base64.
 */
import { MASK } from "portico";
import { isObject, type JsonMembers } from "portico/provider";
import { SecretAutomaton } from "./secret-automaton.ts";
import { base64Forms, SecretFinder } from "./secret-finder.ts";

/** The shortest secret that is masked: shorter ones would match ordinary text. */
const MIN_LENGTH = 6;
/** The shortest secret that is masked in texts of models, where a false match does more harm. */
const MIN_LENGTH_IN_CONTENT = 8;
/** Beginnings of escapes that stand for letters and digits. */
const ESCAPED_LETTERS = ["\\u00", "\\x", "\\u{", "&#", "%6", "%7"];
/** The first characters of these escapes. Mostly a text holds none of them, so three searches suffice. */
const ESCAPE_SIGNS = ["\\", "&", "%"];
/** The levels of `cause` that are masked: no error has more that say something. */
const MAX_CAUSES = 5;

export class SecretMask {
  readonly #finder: SecretFinder | undefined;
  /** The longest run of letters and digits, which escapes mostly leave unchanged, of each secret and of its base64 forms. */
  readonly #needles: string[];
  #automaton: SecretAutomaton | undefined;
  readonly #inContent: string[];

  constructor(secrets: Iterable<string>) {
    const all = [...new Set(secrets)].filter((secret) => secret.length >= MIN_LENGTH);
    this.#inContent = all.filter((secret) => secret.length >= MIN_LENGTH_IN_CONTENT);
    this.#needles = [
      ...new Set(
        this.#inContent.flatMap((secret) => [secret, ...base64Forms(secret)]).map(longestRun),
      ),
    ];
    this.#finder = all.length === 0 ? undefined : new SecretFinder(all);
  }

  /** True if there are secrets to mask in texts of models. */
  get watchesContent(): boolean {
    return this.#inContent.length > 0;
  }

  /** The automaton for streams, which is built at the first use. */
  get automaton(): SecretAutomaton {
    this.#automaton ??= new SecretAutomaton(
      this.#inContent.flatMap((secret) => [secret, ...otherForms(secret)]),
    );
    return this.#automaton;
  }

  /** Returns the text with `********` in place of each secret; the same text if it contains none. */
  text(text: string): string {
    const ranges = this.#finder?.find(text) ?? [];
    if (ranges.length === 0) return text;
    let out = "";
    let from = 0;
    for (const [start, end] of ranges) {
      out += text.slice(from, start) + MASK;
      from = end;
    }
    return out + text.slice(from);
  }

  /** Masks a text of a model, or a piece of one. */
  content(text: string): string {
    return this.mayStandInText(text) ? this.text(text) : text;
  }

  /** Returns a copy with all strings masked, or the same object if there is nothing to mask. */
  value<T>(value: T): T {
    return this.#finder === undefined ? value : (this.#maskValue(value) as T);
  }

  /**
   * Masks the body of an upstream, JSON or not. Returns the same buffer if there is nothing to mask. `latin1` is the body
   * decoded as Latin-1, for a caller that has it already.
   */
  body(body: Buffer, latin1?: string): Buffer {
    if (!this.mayStandIn(body, latin1)) return body;
    try {
      const parsed: unknown = JSON.parse(body.toString("utf8"));
      const hidden = this.value(parsed);
      return hidden === parsed ? body : Buffer.from(JSON.stringify(hidden));
    } catch {
      // The body is not JSON, or is nested too deeply for the call stack.
      const text = body.toString("latin1");
      const hidden = this.text(text);
      return hidden === text ? body : Buffer.from(hidden, "latin1");
    }
  }

  /** A quick check that never misses a secret: true if the bytes hold a run of a secret's letters, or escaped letters. */
  mayStandIn(bytes: Buffer, latin1?: string): boolean {
    if (this.#needles.length === 0) return false;
    // Decoding once is faster than searching the bytes for each needle.
    return this.mayStandInText(latin1 ?? bytes.toString("latin1"));
  }

  /** Does the same as `mayStandIn` for a text. */
  mayStandInText(text: string): boolean {
    if (this.#needles.length === 0) return false;
    for (const needle of this.#needles) if (text.includes(needle)) return true;
    return (
      ESCAPE_SIGNS.some((sign) => text.includes(sign)) &&
      ESCAPED_LETTERS.some((beginning) => text.includes(beginning))
    );
  }

  /** Masks, in place, every field of the error that may be shown or logged, and returns the error. */
  error<E>(error: E): E {
    if (this.#finder !== undefined) this.#maskError(error, MAX_CAUSES);
    return error;
  }

  #maskError(error: unknown, depth: number): void {
    if (!(error instanceof Error) || depth === 0) return;
    const fields = error as unknown as Record<string, unknown>;
    for (const key of ["message", "stack", "code", "type", "param", "details", "headers"]) {
      const value = fields[key];
      if (value === undefined) continue;
      const hidden = this.#maskValue(value);
      if (hidden !== value)
        Object.defineProperty(error, key, { value: hidden, writable: true, configurable: true });
    }
    this.#maskError(error.cause, depth - 1);
  }

  #maskValue(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#maskValue(item));
      return items.every((item, i) => item === value[i]) ? value : items;
    }
    const entries = Object.entries(value);
    const hidden = entries.map(([key, item]) => [this.text(key), this.#maskValue(item)] as const);
    const isSame = hidden.every(
      ([key, item], i) => key === entries[i]![0] && item === entries[i]![1],
    );
    return isSame ? value : withoutTokens(Object.fromEntries(hidden));
  }
}

/** Removes the log probabilities of a changed text, in an object or in its choices: their tokens repeat the old text. */
export function withoutTokens(holder: JsonMembers): JsonMembers {
  if (holder["logprobs"] != null) holder["logprobs"] = null;
  const { choices } = holder;
  if (Array.isArray(choices))
    for (const choice of choices) if (isObject(choice)) withoutTokens(choice);
  return holder;
}

/** Returns the secret percent-encoded, escaped in JSON with and without escaped slashes, and in base64 of both alphabets. */
function otherForms(secret: string): string[] {
  const forms = new Set<string>();
  try {
    const encoded = encodeURIComponent(secret);
    forms.add(encoded).add(encoded.replace(/%../g, (hex) => hex.toLowerCase()));
  } catch {
    // A lone surrogate cannot be percent-encoded.
  }
  const escaped = JSON.stringify(secret).slice(1, -1);
  forms.add(escaped).add(escaped.replaceAll("/", "\\/"));
  for (const text of base64Forms(secret))
    forms.add(text).add(text.replaceAll("+", "-").replaceAll("/", "_"));
  forms.delete(secret);
  return [...forms];
}

function longestRun(secret: string): string {
  const runs = secret.match(/[A-Za-z0-9]+/g) ?? [secret];
  return runs.reduce((best, run) => (run.length > best.length ? run : best));
}
