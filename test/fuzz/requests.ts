/** Malformed requests to every route: wrong bodies, headers, queries and paths, and bytes that are not HTTP. */
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { mutate, type Random, randomText, randomValue } from "./random.ts";

export interface Target {
  url: string;
  token: string;
  servers: Record<string, string>;
  routes: readonly (readonly [string, string])[];
}

export interface Finding {
  what: string;
  status: number;
  code: string | undefined;
  body: string;
}

const words = (
  "model models messages role content user system tools tool_choice type function name parameters stream temperature " +
  "max_tokens n stop response_format input instructions previous_response_id text message session channel context wait " +
  "delivery mode metadata event schedule kind expr tz every everyMs at payload source url path items key selector " +
  "targetId ref kind fields actions timeoutMs profile format limit jsonrpc method params id arguments echo agent job"
).split(" ");
const bodies = [
  '{"model":"echo","messages":[{"role":"user","content":"hi"}],"stream":true}',
  '{"model":"echo","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}]}',
  '{"model":"bad-openai/x","messages":[{"role":"user","content":"hi"}],"stream":true}',
  '{"model":"bad-anthropic/x","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}',
  '{"model":"bad-gemini/x","input":"hi","stream":true}',
  '{"model":"bad-ollama/x","messages":[{"role":"user","content":"hi"}]}',
  '{"text":"hi","metadata":{"a":1}}',
  '{"name":"j","schedule":{"kind":"every","everyMs":60000000},"payload":{"kind":"systemEvent","text":"x"}}',
  '{"name":"p","every":"1h","source":{"kind":"json","url":"http://127.0.0.1:1/"},"payload":{"kind":"systemEvent","text":"x"}}',
  '{"kind":"click","ref":"e1"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
];
/** Statuses with which a server may report its own state or an upstream's. A 500 is never allowed. */
const documentedStatuses = new Set([501, 502, 503, 504]);

const agent = new Agent({ keepAlive: true, maxSockets: 24 });

/** Sends a request of a typical form with an error in it. Resolves with a finding if the response must not occur. */
export function sendRequest(random: Random, target: Target): Promise<Finding | undefined> {
  const [method, pattern] = random.chance(0.95)
    ? random.pick(target.routes)
    : ([
        random.pick(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]),
        `/${encodeURI(replaceSurrogates(randomText(random)))}`,
      ] as const);
  const path = pattern.replace(/:\w+\??|\*/g, () =>
    encodeURIComponent(
      replaceSurrogates(random.chance(0.5) ? random.pick(words) : randomText(random)),
    ),
  );
  const base = random.chance(0.8) ? target.url : random.pick(Object.values(target.servers));
  const query = random.chance(0.3)
    ? `?${random.pick(words)}=${encodeURIComponent(replaceSurrogates(randomText(random)))}`
    : "";
  const headers: Record<string, string> = {
    authorization: `Bearer ${random.chance(0.95) ? target.token : "wrong"}`,
  };
  if (random.chance(0.1))
    headers[
      random.pick(["x-request-id", "idempotency-key", "accept", "user-agent", "x-portico-session"])
    ] = toHeaderValue(randomText(random));
  const hasBody = method !== "GET" && method !== "HEAD" && random.chance(0.95);
  const body = hasBody ? bodyFor(random) : "";
  if (hasBody)
    headers["content-type"] = random.pick([
      "application/json",
      "application/json",
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/plain",
      "application/xml",
    ]);
  const what = `${method} ${path}${query}\n${JSON.stringify(headers)}\n${body.slice(0, 2000)}`;
  return new Promise((resolve) => {
    const disconnectsEarly = random.chance(0.05);
    const req = request(`${base}${path}${query}`, { method, headers, agent }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        if (text.length < 100_000) text += chunk;
        // A feed does not end by itself.
        if (
          disconnectsEarly ||
          (/event-stream/.test(res.headers["content-type"] ?? "") && !/\/v1\//.test(path))
        )
          req.destroy();
      });
      res.on("close", () => resolve(checkResponse(what, res.statusCode ?? 0, text, target)));
      if (/event-stream/.test(res.headers["content-type"] ?? "") && !/\/v1\//.test(path))
        req.destroy();
    });
    req.setTimeout(20_000, () => req.destroy(new Error("no response within 20 s")));
    req.on("error", (error) =>
      resolve(
        /no response/.test(error.message)
          ? { what, status: 0, code: "hangs", body: error.message }
          : undefined,
      ),
    );
    req.end(body);
  });
}

function bodyFor(random: Random): string {
  const kind = random.below(10);
  if (kind < 4) return mutate(random, random.pick(bodies));
  if (kind < 8) return JSON.stringify(replaceMember(random));
  if (kind === 8) return JSON.stringify(randomValue(random, words));
  return random.pick([
    "[".repeat(5000),
    `{"a":`.repeat(3000),
    "\u0000",
    "%7B%7D",
    "a=1&b[c]=2",
    `"${"x".repeat(20_000)}"`,
  ]);
}

/** Returns a valid body with one member replaced. */
function replaceMember(random: Random): unknown {
  const body = JSON.parse(random.pick(bodies)) as Record<string, unknown>;
  body[random.chance(0.7) ? random.pick(Object.keys(body)) : random.pick(words)] = randomValue(
    random,
    words,
  );
  return body;
}

function checkResponse(
  what: string,
  status: number,
  body: string,
  { token }: Target,
): Finding | undefined {
  let code: string | undefined;
  try {
    code = (JSON.parse(body) as { error?: { code?: string } }).error?.code;
  } catch {
    // The body is not JSON, but a page, a feed or an event stream.
  }
  const finding = (cause: string): Finding => ({
    what,
    status,
    code: cause,
    body: body.slice(0, 600),
  });
  if (status >= 500 && !documentedStatuses.has(status))
    return finding(code ?? "undocumented status");
  if (code === "internal_error" || body.includes('"internal_error"'))
    return finding("internal_error");
  if (status >= 400 && body.includes(token)) return finding("the token shows");
  if (status >= 400 && /\n\s+at .*:\d+:\d+/.test(body)) return finding("a stack shows");
  return undefined;
}

/** Sends bytes that are not valid HTTP. The gateway may refuse them or close the connection, but must continue to work. */
export function sendBytes(random: Random, { url, token }: Target): Promise<void> {
  const { port } = new URL(url);
  const body = random.pick(bodies);
  const validRequest = `POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  return new Promise((resolve) => {
    const socket = connect(Number(port), "127.0.0.1");
    const timer = setTimeout(() => socket.destroy(), 100);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.on("data", () => {});
    socket.end(Buffer.from(mutate(random, validRequest), "latin1"));
  });
}

function replaceSurrogates(text: string): string {
  return text.replace(/[\ud800-\udfff]/g, "?");
}

function toHeaderValue(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");
}
