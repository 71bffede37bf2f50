/** The line of each response, as pino would write it, at a fifth of its cost: test/bench/http.bench.ts shows it. */
import { createClock, flat } from "./clock.ts";
import type { Redaction } from "./redaction.ts";

/** One response to one request. */
export interface AccessEntry {
  id: string;
  /** Made here: it needs no quoting and holds no secret. */
  isOwnId: boolean;
  method: string;
  /** Without the query, which may hold what nobody should read. */
  path: string;
  status: number;
  ms: number;
  /** That went out on the connection since its last line, heads included. */
  bytes: number;
  /** The client left, or the response broke off. */
  cut: boolean;
  /** A page that asks again and again, or a file of a page: its line is of level `debug`. */
  isRoutine?: boolean;
  /** The name of the client key. */
  key?: string | undefined;
  /** What a request for a model is about. */
  subject?: { model: string; channel: string; attempts: number } | undefined;
  /** Of the error that was the response. */
  code?: string | undefined;
}

const MOST_PATHS = 500;
const LONGEST_PATH = 200;
const MOST_NAMES = 500;
const LONGEST_NAME = 200;

/** The middle of a line, which is often that of the last request for the same path. */
interface Middle {
  method: string;
  status: number;
  text: string;
}

export class AccessLines {
  readonly #redaction: Redaction;
  readonly #infoHead = createClock('{"level":"info"', ',"id":');
  readonly #debugHead = createClock('{"level":"debug"', ',"id":');
  readonly #middles = new Map<string, Middle>();
  /** Names as lines show them, because they occur again and again. */
  readonly #names = new Map<string, string>();

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  lineOf(entry: AccessEntry): string {
    const { id, isOwnId, method, path, status, ms, bytes, cut, isRoutine } = entry;
    const head = isRoutine ? this.#debugHead() : this.#infoHead();
    const shownId = isOwnId ? `"${id}"` : this.#redaction.hide(quoted(id));
    const middle = this.#middleOf(method, path, status);
    const end = cut ? ',"cut":true,"msg":"request"}\n' : ',"msg":"request"}\n';
    return `${head}${shownId}${middle}${ms},"bytes":${bytes}${this.#detailsOf(entry)}${end}`;
  }

  /** Forgets the texts that may hold a secret which was not known before. */
  forget(): void {
    this.#middles.clear();
    this.#names.clear();
  }

  #middleOf(method: string, path: string, status: number): string {
    const last = this.#middles.get(path);
    if (last?.method === method && last.status === status) return last.text;
    const shownPath = this.#redaction.hide(quoted(path));
    const text = flat(`,"method":"${method}","path":${shownPath},"status":${status},"ms":`);
    if (this.#middles.size >= MOST_PATHS) this.#middles.clear();
    if (path.length <= LONGEST_PATH) this.#middles.set(path, { method, status, text });
    return text;
  }

  /** The key that was used, what the request is about, and the error that was its response. */
  #detailsOf({ key, subject, code }: AccessEntry): string {
    let text = key === undefined ? "" : `,"key":${this.#shownName(key)}`;
    if (subject !== undefined) {
      const { model, channel, attempts } = subject;
      text += `,"model":${this.#shownName(model)}`;
      if (channel !== "") text += `,"channel":${this.#shownName(channel)}`;
      text += `,"attempts":${attempts}`;
    }
    return code === undefined ? text : `${text},"code":${this.#shownName(code)}`;
  }

  #shownName(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const shownName = flat(this.#redaction.hide(quoted(name.slice(0, LONGEST_NAME))));
    if (this.#names.size >= MOST_NAMES) this.#names.clear();
    if (name.length <= LONGEST_NAME) this.#names.set(name, shownName);
    return shownName;
  }
}

/** As JSON. Nearly all texts of a line are plain and need nothing but the quotes. */
const quoted = (text: string): string =>
  /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
