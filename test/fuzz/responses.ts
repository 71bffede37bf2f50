/**
 * Reads valid and invalid HTTP/1.1 responses with our reader and with Node's own parser (llhttp). Ours may refuse more. A
 * response that both accept must be the same, also when it arrives in pieces. A response that only ours accepts is reported.
 */
import { ProtocolError } from "../../plugins/models/upstream/http/response-head.ts";
import { ResponseReader } from "../../plugins/models/upstream/http/response-reader.ts";
import type { Random } from "./random.ts";

interface Reading {
  error?: string;
  /** The response has ended. */
  complete: boolean;
  status: number;
  headers: string;
  body: string;
  reusable: boolean;
}

/** Returns the findings, a text each. */
export function fuzzResponses(random: Random, count: number): string[] {
  const findings: string[] = [];
  const tally = { both: 0, refused: 0, stricter: 0 };
  for (let i = 0; i < count && findings.length < 40; i++) {
    const text = random.chance(0.4)
      ? mutateResponse(random, randomResponse(random))
      : randomResponse(random);
    // A tab after a value is white space (RFC 9110, 5.5), but llhttp treats it as a part of lengths and codings.
    if (text.includes("\t\r\n")) continue;
    const bytes = Buffer.from(text, "latin1");
    const ours = readOurs([bytes]);
    const difference =
      compare(ours, readNodes(bytes), tally) ??
      compareCut(ours, readOurs(splitBytes(random, bytes)));
    if (difference) findings.push(`${difference}: ${JSON.stringify(text)}`);
  }
  console.log(
    `responses: ${count}, ${tally.both} alike, ${tally.refused} refused by both, ${tally.stricter} by us alone`,
  );
  return findings;
}

/**
 * RFC 9112, 6.3: a repeated equal length is valid; a transfer coding overrides a length, and the connection is then closed.
 */
const isLengthThatCounts = ({ headers, reusable }: Reading): boolean =>
  /"content-length":"(\d+)(,\s*\1)+"/.test(headers) ||
  (headers.includes('"transfer-encoding"') && !reusable);

/** Responses that RFC 9112 allows a client to accept, but that llhttp refuses. */
const tolerated: Record<string, (ours: Reading) => boolean> = {
  HPE_INVALID_CONTENT_LENGTH: isLengthThatCounts,
  HPE_UNEXPECTED_CONTENT_LENGTH: isLengthThatCounts,
  HPE_INVALID_TRANSFER_ENCODING: isLengthThatCounts,
  // RFC 9112, 7.1.1: unknown extensions are ignored
  HPE_STRICT: ({ headers }) => headers.includes('"transfer-encoding"'),
};

function compare(
  ours: Reading,
  nodes: Reading,
  tally: { both: number; refused: number; stricter: number },
) {
  if (ours.error !== undefined) {
    if (nodes.error === undefined) tally.stricter++;
    else tally.refused++;
    return undefined;
  }
  if (nodes.error !== undefined && tolerated[nodes.error]?.(ours)) return undefined;
  if (nodes.error !== undefined) return `taken by us alone (Node: ${nodes.error})`;
  tally.both++;
  for (const member of ["complete", "status", "headers", "body"] as const)
    if (ours[member] !== nodes[member])
      return `another ${member} (${JSON.stringify(ours[member])}, Node: ${JSON.stringify(nodes[member])})`;
  return ours.complete && ours.reusable && !nodes.reusable
    ? "a connection that Node would close is kept"
    : undefined;
}

function compareCut(whole: Reading, inPieces: Reading): string | undefined {
  // If a piece ends with the response, the reader does not see bytes after it, so `reusable` may differ.
  const { error, reusable: _, ...rest } = whole;
  const { error: error2, reusable: __, ...rest2 } = inPieces;
  if ((error === undefined) !== (error2 === undefined))
    return `in pieces: ${error2 ?? "no error"} instead of ${error ?? "none"}`;
  if (error !== undefined) return undefined;
  return JSON.stringify(rest) === JSON.stringify(rest2) ? undefined : "another response in pieces";
}

function readOurs(parts: readonly Buffer[]): Reading {
  const reading: Reading = { complete: false, status: 0, headers: "", body: "", reusable: false };
  const reader = new ResponseReader({
    head(status, headers) {
      reading.status = status;
      reading.headers = JSON.stringify({ ...headers });
    },
    data(bytes) {
      reading.body += bytes.toString("latin1");
    },
    end(reusable) {
      reading.complete = true;
      reading.reusable = reusable;
    },
  });
  reader.expect();
  try {
    for (const part of parts) {
      // chunks are joined in place
      reader.push(Buffer.from(part));
      if (reading.complete) break;
    }
    if (!reading.complete && !reader.close()) reading.error = "cut short";
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // an error after the response only closes the connection
    if (!reading.complete) reading.error = error.message;
  }
  return reading;
}

interface NodeParser {
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): number | (Error & { code: string });
  finish(): undefined | (Error & { code: string });
  [callback: number]: (...args: never[]) => unknown;
}
type ParserClass = { new (): NodeParser; RESPONSE: number } & Record<
  "kOnHeaders" | "kOnHeadersComplete" | "kOnBody" | "kOnMessageComplete",
  number
>;
const { HTTPParser } = (
  process as unknown as { binding(name: string): { HTTPParser: ParserClass } }
).binding("http_parser");

function readNodes(bytes: Buffer): Reading {
  const reading: Reading = { complete: false, status: 0, headers: "", body: "", reusable: false };
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {});
  let flushed: string[] = [];
  const add = (headers: string[] = []) => {
    flushed = [...flushed, ...headers];
  };
  let final = false;
  parser[HTTPParser.kOnHeaders] = (headers: string[]) => add(headers);
  parser[HTTPParser.kOnHeadersComplete] = (...args: unknown[]) => {
    if (reading.complete) return 0;
    const [, , headers, , , status, , , keepAlive] = args as [
      number,
      number,
      string[],
      0,
      0,
      number,
      string,
      boolean,
      boolean,
    ];
    add(headers);
    reading.status = status;
    reading.headers = JSON.stringify(joinHeaders(flushed));
    reading.reusable = keepAlive;
    flushed = [];
    final = status >= 200;
    return 0;
  };
  parser[HTTPParser.kOnBody] = (...[chunk]: Buffer[]) => {
    if (!reading.complete) reading.body += chunk?.toString("latin1");
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    if (final) reading.complete = true;
  };
  const result = parser.execute(bytes);
  if (typeof result !== "number" && !reading.complete) reading.error = result.code;
  else if (!reading.complete) reading.error = parser.finish()?.code;
  return reading;
}

function joinHeaders(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    const previous = headers[name];
    headers[name] = previous === undefined ? list[i + 1]! : `${previous}, ${list[i + 1]}`;
  }
  return { ...headers };
}

// ------------------------------------------------------------------------------------------- what is read

const lines = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 404 Not Found",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 200 ",
  "HTTP/1.1 503 a\tb é",
];
const oddLines = [
  "HTTP/1.1 200",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 x",
  "HTTP/2.0 200 OK",
  "HTTP/1.1 99 x",
  "x",
];
const headers = [
  "Content-Type: application/json",
  "X-A: 1",
  "x-a:  2 ",
  "Empty:",
  "Connection: keep-alive",
  "Connection: close",
  "Connection: x, Close",
  "Keep-Alive: timeout=5",
  'X-Quoted: "a, b"; c=d',
  "X-High: caf\u00e9",
];
const oddHeaders = [
  " folded",
  "X-Space : 1",
  "No colon",
  ": no name",
  "X-Null: a\0b",
  "X-Return: a\rb",
  "X-Feed: a\nb",
  "X-Delete: \x7f",
  "Transfer-Encoding: identity",
  "Content-Length: +5",
  "Content-Length: 5, 6",
  "Content-Length: 0x5",
  "Content-Length: 99999999999999999999",
];
const codings = [
  "chunked",
  "Chunked",
  "gzip, chunked",
  "chunked, chunked",
  "chunked, gzip",
  "gzip",
  "xchunked",
];

function randomResponse(random: Random): string {
  const early = random.chance(0.05) ? "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" : "";
  const all = Array.from({ length: random.below(4) }, () =>
    random.pick(random.chance(0.04) ? oddHeaders : headers),
  );
  const body = "abcdefghij\r\n0\r\n\r\n".repeat(1 + random.below(3)).slice(random.below(12));
  const framing = random.below(4);
  let encodedBody = body;
  if (framing === 0) all.push(`Content-Length: ${body.length}`);
  else if (framing === 1) {
    all.push(`Transfer-Encoding: ${random.pick(random.chance(0.1) ? codings : ["chunked"])}`);
    encodedBody = encodeChunks(random, body);
  } else if (framing === 2) {
    all.push(`Content-Length: ${random.below(40)}`);
    if (random.chance(0.1)) all.push("Transfer-Encoding: chunked");
  }
  if (random.chance(0.05)) all.push(`Content-Length: ${body.length}`);
  const line = random.pick(random.chance(0.06) ? oddLines : lines);
  return `${early}${[line, ...all].join("\r\n")}\r\n\r\n${encodedBody}${random.chance(0.05) ? "HTTP/1.1 200 OK\r\n\r\n" : ""}`;
}

function encodeChunks(random: Random, body: string): string {
  let text = "";
  for (let at = 0; at < body.length; ) {
    const size = Math.min(body.length - at, 1 + random.below(9));
    const digits = random.chance(0.1) ? `00${size.toString(16)}` : size.toString(16);
    const extension = random.pick(["", "", "", ";a=b", ";a", ';a="b c"']);
    text += `${digits}${extension}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n${random.chance(0.2) ? "X-Trailer: 1\r\n" : ""}\r\n`;
}

const special = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ";",
  ",",
  "0",
  "5",
  "f",
  "g",
  "\x7f",
  "\u00e9",
  "\r\n\r\n",
  "chunked",
];

function mutateResponse(random: Random, text: string): string {
  let result = text;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(result.length + 1);
    const removed = random.below(3);
    result =
      result.slice(0, at) +
      (random.chance(0.7) ? random.pick(special) : "") +
      result.slice(at + removed);
  }
  return result;
}

function splitBytes(random: Random, bytes: Buffer): Buffer[] {
  if (random.chance(0.2)) return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  const places = Array.from({ length: 1 + random.below(4) }, () =>
    random.below(bytes.length + 1),
  ).sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}
