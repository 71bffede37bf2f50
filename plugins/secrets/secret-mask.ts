/**
 * Hides secrets in what comes from upstreams, which may echo the key that they were sent: as it is, escaped as in JSON
 * (also twice) or HTML, percent-encoded, or in base64.
 */
import { MASK } from "portico";
import { isObject, type JsonMembers } from "portico/provider";
import { SecretAutomaton } from "./secret-automaton.ts";
import { base64Writings, SecretFinder } from "./secret-finder.ts";

/** Anything shorter would be found where it is no secret. */
const SHORTEST = 6;
/** The same for what models say, where an error would cost more. */
const SHORTEST_IN_CONTENT = 8;
/** Where letters and digits are escaped as well. */
const WRITTEN_OUT = ["\\u00", "\\x", "\\u{", "&#", "%6", "%7"];
/** What those begin with: mostly none of them is there, and three searches do. */
const SIGNS = ["\\", "&", "%"];
/** A cause of a cause of a cause: no error has more that say something. */
const DEPTH = 5;

export class SecretMask {
  readonly #finder: SecretFinder | undefined;
  /** The longest run of letters and digits of each secret, which escapes leave as it is, and of it in base64. */
  readonly #needles: string[];
  #automaton: SecretAutomaton | undefined;
  readonly #inContent: string[];

  constructor(secrets: Iterable<string>) {
    const all = [...new Set(secrets)].filter((secret) => secret.length >= SHORTEST);
    this.#inContent = all.filter((secret) => secret.length >= SHORTEST_IN_CONTENT);
    this.#needles = [
      ...new Set(
        this.#inContent.flatMap((secret) => [secret, ...base64Writings(secret)]).map(longestRun),
      ),
    ];
    this.#finder = all.length === 0 ? undefined : new SecretFinder(all);
  }

  /** There is something to hide in what models say. */
  get watchesContent(): boolean {
    return this.#inContent.length > 0;
  }

  /** Made at the first stream. */
  get automaton(): SecretAutomaton {
    this.#automaton ??= new SecretAutomaton(
      this.#inContent.flatMap((secret) => [secret, ...otherWritings(secret)]),
    );
    return this.#automaton;
  }

  /** The text with each secret as `********`; the same text if it contains none. */
  text(text: string): string {
    const found = this.#finder?.find(text) ?? [];
    if (found.length === 0) return text;
    let out = "";
    let from = 0;
    for (const [start, end] of found) {
      out += text.slice(from, start) + MASK;
      from = end;
    }
    return out + text.slice(from);
  }

  /** A text of a model, or a piece of one. */
  content(text: string): string {
    return this.mayStandInText(text) ? this.text(text) : text;
  }

  /** A copy with all strings masked; the very same value where there was nothing to mask. */
  value<T>(value: T): T {
    return this.#finder === undefined ? value : (this.#masked(value) as T);
  }

  /**
   * JSON that came from an upstream; the very same bytes where there was nothing to mask. `latin1`: the bytes as a text, a
   * character each, where that is there already.
   */
  body(body: Buffer, latin1?: string): Buffer {
    if (!this.mayStandIn(body, latin1)) return body;
    try {
      const parsed: unknown = JSON.parse(body.toString("utf8"));
      const hidden = this.value(parsed);
      return hidden === parsed ? body : Buffer.from(JSON.stringify(hidden));
    } catch {
      // no JSON, or nested deeper than anybody reads
      const text = body.toString("latin1");
      const hidden = this.text(text);
      return hidden === text ? body : Buffer.from(hidden, "latin1");
    }
  }

  /** A quick check that never misses a secret: whether the bytes hold a secret's letters, or escaped letters. */
  mayStandIn(bytes: Buffer, latin1?: string): boolean {
    // Quicker than to look through the bytes for each.
    if (this.#needles.length === 0) return false;
    return this.mayStandInText(latin1 ?? bytes.toString("latin1"));
  }

  /** The same for a text. */
  mayStandInText(text: string): boolean {
    if (this.#needles.length === 0) return false;
    for (const needle of this.#needles) if (text.includes(needle)) return true;
    return (
      SIGNS.some((sign) => text.includes(sign)) &&
      WRITTEN_OUT.some((writing) => text.includes(writing))
    );
  }

  /** The same error, without secrets in whatever of it may be shown or logged. */
  error<E>(error: E): E {
    if (this.#finder !== undefined) this.#maskError(error, DEPTH);
    return error;
  }

  #maskError(error: unknown, depth: number): void {
    if (!(error instanceof Error) || depth === 0) return;
    const fields = error as unknown as Record<string, unknown>;
    for (const key of ["message", "stack", "code", "type", "param", "details", "headers"]) {
      const value = fields[key];
      if (value === undefined) continue;
      const hidden = this.#masked(value);
      if (hidden !== value)
        Object.defineProperty(error, key, { value: hidden, writable: true, configurable: true });
    }
    this.#maskError(error.cause, depth - 1);
  }

  #masked(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#masked(item));
      return items.every((item, i) => item === value[i]) ? value : items;
    }
    const entries = Object.entries(value);
    const hidden = entries.map(([key, item]) => [this.text(key), this.#masked(item)] as const);
    const same = hidden.every(
      ([key, item], i) => key === entries[i]![0] && item === entries[i]![1],
    );
    return same ? value : withoutTokens(Object.fromEntries(hidden));
  }
}

/** Removes the tokens beside a changed text, in an object or in its choices: they would repeat the old text in pieces. */
export function withoutTokens(holder: JsonMembers): JsonMembers {
  if (holder["logprobs"] != null) holder["logprobs"] = null;
  const { choices } = holder;
  if (Array.isArray(choices))
    for (const choice of choices) if (isObject(choice)) withoutTokens(choice);
  return holder;
}

/** The secret percent-encoded, as in JSON where slashes are escaped or not, and in base64 of both alphabets. */
function otherWritings(secret: string): string[] {
  const writings = new Set<string>();
  try {
    const encoded = encodeURIComponent(secret);
    writings.add(encoded).add(encoded.replace(/%../g, (hex) => hex.toLowerCase()));
  } catch {
    // half a surrogate pair has no such writing
  }
  const escaped = JSON.stringify(secret).slice(1, -1);
  writings.add(escaped).add(escaped.replaceAll("/", "\\/"));
  for (const text of base64Writings(secret))
    writings.add(text).add(text.replaceAll("+", "-").replaceAll("/", "_"));
  writings.delete(secret);
  return [...writings];
}

function longestRun(secret: string): string {
  const runs = secret.match(/[A-Za-z0-9]+/g) ?? [secret];
  return runs.reduce((best, run) => (run.length > best.length ? run : best));
}
