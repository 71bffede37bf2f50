/** A fake upstream on a real socket, and the parts of its answers. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  raw: string;
  body: any;
  /** Resolves when the client of this exchange (the gateway) has aborted it. */
  cut: Promise<void>;
}

export type Answerer = (seen: Seen, res: ServerResponse, count: number) => unknown;

export interface Upstream {
  /** The base URL with `/v1`. */
  url: string;
  port: number;
  /** The requests other than those for the list of models. */
  seen: Seen[];
  /** All requests, including those for the list of models. */
  all: Seen[];
  answer: Answerer;
  close(): Promise<void>;
}

export async function startUpstream(
  answer: Answerer,
  options: { models?: string[] | false } = {},
): Promise<Upstream> {
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    const cut = new Promise<void>((resolve) =>
      res.once("close", () => !res.writableFinished && resolve()),
    );
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const raw = Buffer.concat(parts).toString("utf8");
      const seen: Seen = {
        method: req.method ?? "",
        path: req.url ?? "",
        headers: req.headers,
        raw,
        body: raw === "" ? undefined : JSON.parse(raw),
        cut,
      };
      upstream.all.push(seen);
      if (req.method === "GET" && req.url?.split("?")[0]?.endsWith("/models")) {
        if (options.models === false) res.writeHead(404).end();
        else json(res, { data: (options.models ?? []).map((id) => ({ id })) });
        return;
      }
      upstream.seen.push(seen);
      upstream.answer(seen, res, upstream.seen.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const upstream: Upstream = {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    seen: [],
    all: [],
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return upstream;
}

export function json(
  res: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(body));
}

export function completion(content: string, more: object = {}): object {
  return {
    id: "chatcmpl-up",
    object: "chat.completion",
    created: 1700000000,
    model: "up-model",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...more,
  };
}

export function chunk(delta: object, finish: string | null = null, more: object = {}): string {
  return data({
    id: "chatcmpl-up",
    object: "chat.completion.chunk",
    created: 1700000000,
    model: "up-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
}

export function data(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

export const DONE = data("[DONE]");

export function stream(res: ServerResponse, ...events: string[]): void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) res.write(event);
  res.end();
}

export const hello = [
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "Hel" }),
  chunk({ content: "lo" }),
  chunk({}, "stop"),
  DONE,
];

/** Returns the events of a stream's text: parsed JSON, or `[DONE]`. */
export function eventsOf(text: string): any[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => (block === "data: [DONE]" ? "[DONE]" : JSON.parse(block.slice(6))));
}

/** Returns the text of a stream's first choice. */
export function contentOf(text: string): string {
  return eventsOf(text)
    .map((event) => event.choices?.[0]?.delta?.content ?? "")
    .join("");
}
