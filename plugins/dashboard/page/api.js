/** Requests to the gateway's routes, with the reader's token. The browser keeps the token for this tab only. */

const KEY = "portico.token";

export const hasToken = () => sessionStorage.getItem(KEY) !== null;
export const keepToken = (token) => sessionStorage.setItem(KEY, token);
export const forgetToken = () => {
  sessionStorage.removeItem(KEY);
  readings.clear();
};

/** A response whose status is not 2xx; status 0 if there is no response at all. */
export class ApiError extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    this.status = status;
    this.code = code;
    /** The error object of the gateway's response. */
    this.details = details;
  }
}

/**
 * Fetches with the token. Throws `ApiError`. A refused token also dispatches `portico:refused`, so that the page asks
 * again.
 */
export async function request(method, path, { body, signal, version, etag } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      headers: {
        authorization: `Bearer ${headerValue(sessionStorage.getItem(KEY) ?? "")}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(version === undefined ? {} : { "if-match": `"${version}"` }),
        // The page polls, so this header keeps its readings out of the log.
        ...(method === "GET" ? { "x-portico-poll": "1" } : {}),
        ...(etag === undefined ? {} : { "if-none-match": etag }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The gateway does not respond. Check that it is running.");
  }
  if (response.ok || response.status === 304) return response;
  const { error } = await response.json().catch(() => ({}));
  if (response.status === 401) dispatchEvent(new Event("portico:refused"));
  const failure = new ApiError(
    response.status,
    error?.code ?? "",
    error?.message ?? `The gateway responded with ${response.status}.`,
    error,
  );
  failure.requestId = response.headers.get("x-request-id");
  throw failure;
}

/** The longest time that a reading may take, in milliseconds. Actions have no limit. */
const READ_TIMEOUT_MS = 20_000;

/** Runs `work` with a signal that aborts after the timeout. Throws `ApiError` if the reading takes too long or is cut off. */
export async function withTimeout(work, signal) {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), READ_TIMEOUT_MS);
  try {
    return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal);
  } catch (error) {
    if (signal?.aborted || error instanceof ApiError) throw error;
    const message = timeout.signal.aborted
      ? "The gateway took too long to respond."
      : "The gateway's response was cut off.";
    throw new ApiError(0, "unreachable", message);
  } finally {
    clearTimeout(timer);
  }
}

/** The last text of each path with its ETag, so that an unchanged reading need not be transferred again. */
const readings = new Map();
const MAX_READINGS = 50;

export const get = (path, { signal } = {}) =>
  withTimeout(async (signal) => {
    const last = readings.get(path);
    const response = await request("GET", path, { signal, etag: last?.etag });
    if (response.status === 304) return JSON.parse(last.text);
    const text = await response.text();
    const etag = response.headers.get("etag");
    readings.delete(path);
    if (etag !== null) readings.set(path, { etag, text });
    if (readings.size > MAX_READINGS) readings.delete(readings.keys().next().value);
    return JSON.parse(text);
  }, signal);
export const post = async (path, body) => (await request("POST", path, { body })).json();

/** Changes something at a version. The response is 412 if it has changed since, and names the changes. */
export const change = async (method, path, body, version) =>
  (await request(method, path, { body, version })).json();
export const del = async (path) => (await request("DELETE", path)).json();

/** Resolves to `{ value }` or `{ error }`, for pages of several parts, each of which may fail. */
export async function attempt(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { error };
  }
}

/** Yields the events of a streamed response as `{ event, data }`, with the data as text. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
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

/** Encodes a text as UTF-8 with one character per byte, since a header consists of bytes. */
function headerValue(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
