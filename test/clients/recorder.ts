/** A proxy between a program and the gateway that records the requests, for `recordings.test.ts`. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type ClientProgram, labelOf } from "./programs/program.ts";

export interface Recording {
  method: string;
  path: string;
  /** The headers that belong to the format. */
  headers: Record<string, string>;
  body: unknown;
  /** The status of the response. */
  status?: number;
}

export interface Recorder {
  url: string;
  requests: Recording[];
  close(): void;
}

export const recordingsDir = join(import.meta.dirname, "recordings");

/** Returns the name of the file that holds the program's requests. */
export function recordingOf(program: ClientProgram): string {
  const text = `${labelOf(program)} ${program.wayIn.replace("/v1/", "")}`;
  const words = text.toLowerCase().match(/[a-z0-9]+/g)!;
  return `${words.join("-")}.json`;
}

/**
 * Writes the requests over one upstream. Those over others differ only in ids, and in the program's treatment of the model.
 */
export function writeRecording(program: ClientProgram, { requests }: Recorder, work: string): void {
  mkdirSync(recordingsDir, { recursive: true });
  const text = JSON.stringify(requests, null, 1).replaceAll(work, "/work");
  writeFileSync(join(recordingsDir, recordingOf(program)), `${text}\n`);
}

/** The length to which prose is cut, since it is the program's own and not relevant here. */
const MAX_TEXT_LENGTH = 60;
const PROSE = new Set(["description", "text", "content", "instructions", "definition"]);

export async function startRecorder(gateway: string): Promise<Recorder> {
  const requests: Recording[] = [];
  const server = createServer((req, res) => void forward(req, res, gateway, requests));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => void server.close(),
  };
}

async function forward(
  req: IncomingMessage,
  res: ServerResponse,
  gateway: string,
  requests: Recording[],
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const { method = "GET", url: path = "/", headers } = req;
  const body = method === "POST" ? shortenProse(bytes) : null;
  const recording: Recording = { method, path, headers: formHeaders(headers), body };
  if (method === "POST") requests.push(recording);
  // A gateway accepts only its own host name.
  const gatewayHeaders = { ...headers, host: new URL(gateway).host };
  const gatewayRequest = request(gateway + path, { method, headers: gatewayHeaders }, (answer) => {
    recording.status = answer.statusCode ?? 502;
    res.writeHead(recording.status, answer.headers);
    answer.pipe(res);
  });
  gatewayRequest.once("error", () => res.destroy());
  gatewayRequest.end(bytes);
}

function formHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => name.startsWith("anthropic-"));
  return Object.fromEntries(entries) as Record<string, string>;
}

function shortenProse(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8"), (key, value: unknown) =>
    typeof value === "string" && PROSE.has(key) && value.length > MAX_TEXT_LENGTH
      ? `${value.slice(0, MAX_TEXT_LENGTH)}…`.toWellFormed()
      : value,
  );
}
