/** Stands between a program and the gateway and keeps the requests, for `recordings.test.ts`. */
import { once } from "node:events";
import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface Recording {
  method: string;
  path: string;
  /** Those that belong to the format. */
  headers: Record<string, string>;
  body: unknown;
}

export interface Recorder {
  url: string;
  requests: Recording[];
  close(): void;
}

/** Prose is cut: it is the program's own, and of no interest here. */
const LONGEST_TEXT = 60;
const PROSE = new Set(["description", "text", "content", "instructions", "definition"]);

export async function startRecorder(gateway: string): Promise<Recorder> {
  const requests: Recording[] = [];
  const server = createServer((req, res) => void pass(req, res, gateway, requests));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => void server.close(),
  };
}

async function pass(
  req: IncomingMessage,
  res: ServerResponse,
  gateway: string,
  requests: Recording[],
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const { method = "GET", url: path = "/", headers } = req;
  if (method === "POST")
    requests.push({ method, path, headers: formHeaders(headers), body: shortened(bytes) });
  // A gateway takes its own name only.
  const own = { ...headers, host: new URL(gateway).host };
  const onward = request(gateway + path, { method, headers: own }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  onward.once("error", () => res.destroy());
  onward.end(bytes);
}

function formHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => name.startsWith("anthropic-"));
  return Object.fromEntries(own) as Record<string, string>;
}

function shortened(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8"), (key, value: unknown) =>
    typeof value === "string" && PROSE.has(key) && value.length > LONGEST_TEXT
      ? `${value.slice(0, LONGEST_TEXT)}…`.toWellFormed()
      : value,
  );
}
