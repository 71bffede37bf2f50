/** The requirements of RFC 9112 for the recipient of a response, as a whole and byte by byte. */
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { ProtocolError } from "../../../../plugins/models/upstream/http/response-head.ts";
import { ResponseReader } from "../../../../plugins/models/upstream/http/response-reader.ts";

/** The body, and whether the connection can be reused; a string is the reason of a refusal. */
type Expected =
  | { body: string; reusable: boolean; status?: number; headers?: Record<string, string> }
  | string;
type Row = [section: string, rule: string, bytes: string, expected: Expected];

const ok = "HTTP/1.1 200 OK\r\n";
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const reusable = (body: string, more: Partial<Exclude<Expected, string>> = {}) => ({
  body,
  reusable: true,
  ...more,
});
const last = (body: string, more: Partial<Exclude<Expected, string>> = {}) => ({
  body,
  reusable: false,
  ...more,
});

const rows: Row[] = [
  [
    "2.1",
    "a message is a start line, header lines, an empty line and a body",
    `${ok}A: b\r\nContent-Length: 1\r\n\r\nx`,
    reusable("x", { headers: { a: "b", "content-length": "1" } }),
  ],
  [
    "2.2",
    "octets outside US-ASCII are no error",
    `${ok}X: caf\xe9\r\nContent-Length: 0\r\n\r\n`,
    reusable("", { headers: { x: "caf\xe9", "content-length": "0" } }),
  ],
  ["2.2", "a bare CR in a line is refused", `${ok}X: a\rb\r\n\r\n`, "control character"],
  ["2.2", "nor one at its end", `${ok}X: a\r\r\n\r\n`, "control character"],
  ["2.2", "a bare LF ends no line", `${ok}X: a\nContent-Length: 1\r\n\r\nx`, "control character"],
  [
    "2.2",
    "white space before the first header line is refused",
    `${ok} X: a\r\n\r\n`,
    "broken header",
  ],
  [
    "2.3",
    "a higher minor version is none that we speak",
    "HTTP/1.2 200 OK\r\n\r\n",
    "not an HTTP/1.1",
  ],
  ["2.3", "another major version is refused", "HTTP/2.0 200 OK\r\n\r\n", "not an HTTP/1.1"],
  [
    "2.3",
    "the name of the protocol is written in capitals",
    "http/1.1 200 OK\r\n\r\n",
    "not an HTTP/1.1",
  ],
  [
    "4",
    "the reason may be empty",
    "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
    reusable("", { status: 404 }),
  ],
  [
    "4",
    "the reason and its space may be missing",
    "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n",
    reusable("", { status: 404 }),
  ],
  [
    "4",
    "the reason may hold tabs and octets outside US-ASCII",
    "HTTP/1.1 200 a\tb\xe9\r\nContent-Length: 0\r\n\r\n",
    reusable(""),
  ],
  ["4", "the status has three digits", "HTTP/1.1 20 OK\r\n\r\n", "not an HTTP/1.1"],
  ["4", "a status that is not a number is refused", "HTTP/1.1 2oo OK\r\n\r\n", "not an HTTP/1.1"],
  [
    "5",
    "white space around a value is no part of it",
    `${ok}X: \t a \t\r\nContent-Length: 0\r\n\r\n`,
    reusable("", { headers: { x: "a", "content-length": "0" } }),
  ],
  [
    "5",
    "a value may be empty",
    `${ok}X:\r\nContent-Length: 0\r\n\r\n`,
    reusable("", { headers: { x: "", "content-length": "0" } }),
  ],
  ["5", "a line without a colon is refused", `${ok}X\r\n\r\n`, "broken header"],
  ["5", "a name is a token", `${ok}X(): a\r\n\r\n`, "broken header"],
  ["5.1", "white space between name and colon is refused", `${ok}X : a\r\n\r\n`, "broken header"],
  ["5.2", "a folded line makes the message bad", `${ok}X: a\r\n b\r\n\r\n`, "broken header"],
  [
    "6.1",
    "a coding that was not asked for is refused",
    `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    "transfer coding",
  ],
  [
    "6.1",
    "chunked comes last",
    `${ok}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
    "transfer coding",
  ],
  [
    "6.1",
    "chunked is applied once",
    `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
    "transfer coding",
  ],
  [
    "6.1",
    "chunked said twice in two lines is refused",
    `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    "transfer coding",
  ],
  [
    "6.1",
    "the name of a coding ignores case",
    `${ok}Transfer-Encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
    reusable("x"),
  ],
  [
    "6.1",
    "a coding in HTTP/1.0 leaves a doubt: the connection is closed",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    last("x"),
  ],
  ["6.2", "a length is digits", `${ok}Content-Length: +1\r\n\r\nx`, "not a number"],
  ["6.2", "a length is no hexadecimal number", `${ok}Content-Length: 0x1\r\n\r\nx`, "not a number"],
  [
    "6.2",
    "a length that no number holds is refused",
    `${ok}Content-Length: 99999999999999999999\r\n\r\nx`,
    "not a number",
  ],
  [
    "6.3 (1)",
    "204 has no body, whatever it says",
    "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    reusable("", { status: 204 }),
  ],
  [
    "6.3 (1)",
    "304 has no body, whatever it says",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    reusable("", { status: 304 }),
  ],
  [
    "6.3 (1)",
    "1xx has no body",
    `HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n${ok}Content-Length: 1\r\n\r\nx`,
    reusable("x"),
  ],
  [
    "6.3 (3)",
    "the coding counts before a length, and the connection is closed",
    `${ok}Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
    last("x"),
  ],
  [
    "6.3 (5)",
    "two lengths are none",
    `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
    "not a number",
  ],
  [
    "6.3 (5)",
    "one length said twice is a length",
    `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
    reusable("x"),
  ],
  [
    "6.3 (5)",
    "one length said twice in a list is a length",
    `${ok}Content-Length: 1, 1\r\n\r\nx`,
    reusable("x"),
  ],
  [
    "6.3 (8)",
    "without either the body ends with the connection",
    `${ok}\r\nall of it`,
    last("all of it"),
  ],
  [
    "7.1",
    "the size is hexadecimal, in either case, with zeros before it",
    `${chunked}00a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n`,
    reusable("01234567890123456789"),
  ],
  ["7.1", "a size that overflows is refused", `${chunked}FFFFFFFFFFFFFFFFF\r\n`, "too many digits"],
  ["7.1", "a size that is not a number is refused", `${chunked}0x1\r\nx\r\n`, "not a number"],
  ["7.1", "a chunk without a size is refused", `${chunked}\r\nx\r\n`, "without a size"],
  ["7.1", "a chunk ends with CR LF", `${chunked}1\r\nxy`, "missing line end"],
  ["7.1", "a size ends with CR LF", `${chunked}1\nx`, "not a number"],
  [
    "7.1.1",
    "an extension is ignored",
    `${chunked}1;a=b;c="d e"\r\nx\r\n0;f\r\n\r\n`,
    reusable("x"),
  ],
  [
    "7.1.1",
    "an extension holds no bare LF",
    `${chunked}1;a\nb\r\nx\r\n0\r\n\r\n`,
    "control character",
  ],
  ["7.1.1", "an extension has a limit", `${chunked}1;${"a".repeat(5000)}\r\n`, "too long"],
  [
    "7.1.2",
    "trailers are read over, and never merged into the headers",
    `${chunked}0\r\nContent-Length: 9\r\nX: y\r\n\r\n`,
    reusable("", { headers: { "transfer-encoding": "chunked" } }),
  ],
  [
    "7.1.2",
    "trailers have a limit, all of them together",
    `${chunked}0\r\n${`X: ${"y".repeat(100)}\r\n`.repeat(50)}\r\n`,
    "too long",
  ],
  ["7.1.2", "a trailer is a header line", `${chunked}0\r\nno colon\r\n\r\n`, "broken header"],
  [
    "8",
    "a body shorter than its length is incomplete",
    `${ok}Content-Length: 5\r\n\r\nx`,
    "cut short",
  ],
  ["8", "chunks without the last one are incomplete", `${chunked}1\r\nx\r\n`, "cut short"],
  [
    "8",
    "chunks without the end of the trailers are incomplete",
    `${chunked}1\r\nx\r\n0\r\n`,
    "cut short",
  ],
  ["8", "a head that does not end is incomplete", `${ok}Content-Length: 5\r\n`, "cut short"],
  [
    "9.2",
    "what comes after a response is no other response: the connection is closed",
    `${ok}Content-Length: 1\r\n\r\nx${ok}`,
    last("x"),
  ],
  ["9.3", "HTTP/1.1 persists", `${ok}Content-Length: 0\r\n\r\n`, reusable("")],
  ["9.3", "HTTP/1.0 does not", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", last("")],
  [
    "9.3",
    "HTTP/1.0 does where it says so",
    "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
    reusable(""),
  ],
  [
    "9.6",
    "close is an option among others, in either case",
    `${ok}Connection: x, CLOSE\r\nContent-Length: 0\r\n\r\n`,
    last(""),
  ],
  [
    "9.6",
    "an option that contains the word is another one",
    `${ok}Connection: closed\r\nContent-Length: 0\r\n\r\n`,
    reusable(""),
  ],
];

function read(parts: readonly string[]): Exclude<Expected, string> | string {
  let done: Exclude<Expected, string> | undefined;
  let status = 0;
  let headers: Record<string, string> = {};
  let body = "";
  const reader = new ResponseReader({
    head(code, lines) {
      status = code;
      headers = { ...lines } as Record<string, string>;
    },
    data(bytes) {
      body += bytes.toString("latin1");
    },
    end(reusable) {
      done = { body, reusable, status, headers };
    },
  });
  reader.expect();
  try {
    for (const part of parts) reader.push(Buffer.from(part, "latin1"));
    return reader.close() && done ? done : "cut short";
  } catch (error) {
    assert.instance(error, ProtocolError);
    return done ?? (error as Error).message;
  }
}

for (const [section, rule, bytes, expected] of rows)
  test(`${section}: ${rule}`, () => {
    for (const parts of [[bytes], [...bytes]]) {
      const result = read(parts);
      if (typeof expected === "string") {
        assert.type(result, "string", `taken: ${JSON.stringify(result)}`);
        assert.match(result as string, expected);
        continue;
      }
      const response = result as Exclude<Expected, string>;
      const { status = 200, headers = response.headers } = expected;
      // Byte by byte, what follows a response is not yet seen when it ends.
      const reusable = parts.length > 1 && section === "9.2" ? true : expected.reusable;
      assert.equal(response, { body: expected.body, reusable, status, headers });
    }
  });

test.run();
