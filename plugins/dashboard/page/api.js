/** The gateway's routes, with the token that the person gave. It is kept for this tab only. */

const KEY = "portico.token";

export const hasToken = () => sessionStorage.getItem(KEY) !== null;
export const keepToken = (token) => sessionStorage.setItem(KEY, token);
export const forgetToken = () => {
  sessionStorage.removeItem(KEY);
  readings.clear();
};

/** An answer that is no 2xx; status 0: no answer at all. */
export class ApiError extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    this.status = status;
    this.code = code;
    /** The error as the gateway sent it. */
    this.details = details;
  }
}

/** Fetches with the token. Throws `ApiError`; a refused token also tells the page, which asks for another. */
export async function request(method, path, { body, signal, version, etag } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      headers: {
        authorization: `Bearer ${headerValue(sessionStorage.getItem(KEY) ?? "")}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(version === undefined ? {} : { "if-match": `"${version}"` }),
        // The page reads again and again: the log need not have a line for each reading.
        ...(method === "GET" ? { "x-portico-poll": "1" } : {}),
        ...(etag === undefined ? {} : { "if-none-match": etag }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The gateway does not respond. Check that it is running.");
  }
  if (answer.ok || answer.status === 304) return answer;
  const { error } = await answer.json().catch(() => ({}));
  if (answer.status === 401) dispatchEvent(new Event("portico:refused"));
  const failure = new ApiError(
    answer.status,
    error?.code ?? "",
    error?.message ?? `The gateway responded with ${answer.status}.`,
    error,
  );
  failure.requestId = answer.headers.get("x-request-id");
  throw failure;
}

/** How long the gateway may take to say what is so, ms. What it is asked to do may take as long as it takes. */
const READ_MS = 20_000;

/** What `work` reads until the signal that it gets aborts. Throws `ApiError` where that takes too long or is cut off. */
export async function inTime(work, signal) {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), READ_MS);
  try {
    return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal);
  } catch (error) {
    if (signal?.aborted || error instanceof ApiError) throw error;
    const why = timeout.signal.aborted
      ? "The gateway took too long to respond."
      : "The gateway's response was cut off.";
    throw new ApiError(0, "unreachable", why);
  } finally {
    clearTimeout(timer);
  }
}

/** What was last read of each path, with its ETag: a view that asks again gets the same value while nothing changes. */
const readings = new Map();
const MOST_READINGS = 50;

export const get = (path, { signal } = {}) =>
  inTime(async (signal) => {
    const last = readings.get(path);
    const answer = await request("GET", path, { signal, etag: last?.etag });
    if (answer.status === 304) return JSON.parse(last.text);
    const text = await answer.text();
    const etag = answer.headers.get("etag");
    readings.delete(path);
    if (etag !== null) readings.set(path, { etag, text });
    if (readings.size > MOST_READINGS) readings.delete(readings.keys().next().value);
    return JSON.parse(text);
  }, signal);
export const post = async (path, body) => (await request("POST", path, { body })).json();

/** Changes the configuration as it was at a version; a 412 says what has changed since. */
export const change = async (method, path, body, version) =>
  (await request(method, path, { body, version })).json();
export const del = async (path) => (await request("DELETE", path)).json();

/** The value, or the error: for pages of several parts, of which each may be missing. */
export async function attempt(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { error };
  }
}

/** The events of a stream that is under way: `{event, data}`, data as text. */
export async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line) ?? []);
      const data = fields.flatMap(([, name, text]) => (name === "data" ? [text] : []));
      const event = fields.find(([, name]) => name === "event")?.[2];
      if (data.length > 0) yield { event, data: data.join("\n") };
    }
  }
}

/** A header takes bytes: a token's UTF-8, a character for each. */
function headerValue(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
