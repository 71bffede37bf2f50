/** Writes the line of each response in pino's format, at a fifth of pino's cost: see test/bench/http.bench.ts. */
import { createClock, flat } from "./clock.ts";
import type { Redaction } from "./redaction.ts";

/** One response to one request. */
export interface AccessEntry {
  id: string;
  /** True for an id that the gateway generated: it needs no quoting and holds no secret. */
  isOwnId: boolean;
  method: string;
  /** The path without the query, which may hold secrets. */
  path: string;
  status: number;
  ms: number;
  /** The bytes sent on the connection since its last line, including heads. */
  bytes: number;
  /** True if the client disconnected or the response was cut off. */
  cut: boolean;
  /** True for requests by which a page refreshes its data, and for files of a page: their level is `debug`. */
  isRoutine?: boolean;
  /** The name of the client key. */
  key?: string | undefined;
  /** The model of a request, the channel and the number of attempts. */
  subject?: { model: string; channel: string; attempts: number } | undefined;
  /** The code of an error response. */
  code?: string | undefined;
}

const MAX_PATHS = 500;
const MAX_PATH_LENGTH = 200;
const MAX_NAMES = 500;
const MAX_NAME_LENGTH = 200;

/** The middle of a line, which is often the same as for the previous request to its path. */
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
  /** Cached JSON of names, because they recur. */
  readonly #names = new Map<string, string>();

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  formatLine(entry: AccessEntry): string {
    const { id, isOwnId, method, path, status, ms, bytes, cut, isRoutine } = entry;
    const head = isRoutine ? this.#debugHead() : this.#infoHead();
    const idJson = isOwnId ? `"${id}"` : this.#redaction.hide(quote(id));
    const middle = this.#formatMiddle(method, path, status);
    const end = cut ? ',"cut":true,"msg":"request"}\n' : ',"msg":"request"}\n';
    return `${head}${idJson}${middle}${ms},"bytes":${bytes}${this.#formatDetails(entry)}${end}`;
  }

  /** Clears the caches, whose texts may hold a newly added secret. */
  clearCaches(): void {
    this.#middles.clear();
    this.#names.clear();
  }

  #formatMiddle(method: string, path: string, status: number): string {
    const cached = this.#middles.get(path);
    if (cached?.method === method && cached.status === status) return cached.text;
    const pathJson = this.#redaction.hide(quote(path));
    const text = flat(`,"method":"${method}","path":${pathJson},"status":${status},"ms":`);
    if (this.#middles.size >= MAX_PATHS) this.#middles.clear();
    if (path.length <= MAX_PATH_LENGTH) this.#middles.set(path, { method, status, text });
    return text;
  }

  /** Returns the members for the client key, the subject and the error of a request. */
  #formatDetails({ key, subject, code }: AccessEntry): string {
    let text = key === undefined ? "" : `,"key":${this.#nameJson(key)}`;
    if (subject !== undefined) {
      const { model, channel, attempts } = subject;
      text += `,"model":${this.#nameJson(model)}`;
      if (channel !== "") text += `,"channel":${this.#nameJson(channel)}`;
      text += `,"attempts":${attempts}`;
    }
    return code === undefined ? text : `${text},"code":${this.#nameJson(code)}`;
  }

  #nameJson(name: string): string {
    const cachedJson = this.#names.get(name);
    if (cachedJson !== undefined) return cachedJson;
    const json = flat(this.#redaction.hide(quote(name.slice(0, MAX_NAME_LENGTH))));
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    if (name.length <= MAX_NAME_LENGTH) this.#names.set(name, json);
    return json;
  }
}

/** Returns a text as JSON. Nearly all texts of a line are plain and need only the quotes. */
const quote = (text: string): string =>
  /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
