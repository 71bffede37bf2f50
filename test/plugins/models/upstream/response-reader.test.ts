/** The framing of responses, split at every byte; connections that must not be reused, and invalid responses. */
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { ProtocolError } from "../../../../plugins/models/upstream/http/response-head.ts";
import { ResponseReader } from "../../../../plugins/models/upstream/http/response-reader.ts";

interface ReadRecord {
  heads: [status: number, headers: Record<string, unknown>][];
  body: string;
  ends: boolean[];
}

function read(parts: readonly string[]): ReadRecord & { reader: ResponseReader } {
  const record: ReadRecord = { heads: [], body: "", ends: [] };
  const reader = new ResponseReader({
    head: (status, headers) => void record.heads.push([status, { ...headers }]),
    data: (bytes) => {
      record.body += bytes.toString("latin1");
    },
    end: (reusable) => void record.ends.push(reusable),
  });
  reader.expect();
  for (const part of parts) reader.push(Buffer.from(part, "latin1"));
  return Object.assign(record, { reader });
}

/** Parsing whole, byte by byte, and split once at every place always gives the same result. */
function everyWay(text: string, check: (record: ReadRecord) => void): void {
  check(read([text]));
  check(read([...text]));
  for (let at = 1; at < text.length; at++) check(read([text.slice(0, at), text.slice(at)]));
}

function refuses(text: string, why: RegExp): void {
  for (const parts of [[text], [...text]]) {
    let error: unknown;
    try {
      read(parts);
    } catch (thrown) {
      error = thrown;
    }
    assert.instance(error, ProtocolError, `not refused: ${JSON.stringify(text.slice(0, 80))}`);
    assert.match((error as Error).message, why);
  }
}

test("a body of known length", () => {
  everyWay(
    "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello",
    ({ heads, body, ends }) => {
      assert.equal(heads, [[200, { "content-type": "a/b", "content-length": "5" }]]);
      assert.is(body, "hello");
      assert.equal(ends, [true]);
    },
  );
});

test("a body in chunks, with extensions and trailers", () => {
  const text =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" +
    "5\r\nhello\r\n1;name=value\r\n \r\n00a\r\n0123456789\r\n0\r\nx-trailer: 1\r\nother: 2\r\n\r\n";
  everyWay(text, ({ heads, body, ends }) => {
    assert.is(heads.length, 1);
    assert.is(body, "hello 0123456789");
    assert.equal(ends, [true]);
  });
});

test("the chunks of one read are reported together", () => {
  let calls = 0;
  const reader = new ResponseReader({ head: () => {}, data: () => void calls++, end: () => {} });
  reader.expect();
  reader.push(
    Buffer.from(
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n",
    ),
  );
  assert.is(calls, 1);
});

test("a body that ends with the connection", () => {
  const record = read(["HTTP/1.1 200 OK\r\n\r\nhel", "lo"]);
  assert.equal(record.ends, []);
  assert.ok(record.reader.close());
  assert.equal(record.ends, [false]);
  assert.is(record.body, "hello");
});

test("a truncated response is not complete", () => {
  for (const cut of [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
    "HTTP/1.1 20",
  ]) {
    const record = read([cut]);
    assert.not.ok(record.reader.close());
    assert.equal(record.ends, []);
  }
});

test("responses without a body end with their head, regardless of a declared length", () => {
  for (const status of ["204 No Content", "304 Not Modified"]) {
    everyWay(`HTTP/1.1 ${status}\r\ncontent-length: 5\r\n\r\n`, ({ ends, body }) => {
      assert.equal(ends, [true]);
      assert.is(body, "");
    });
  }
  everyWay("HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", ({ ends }) => assert.equal(ends, [true]));
});

test("interim responses precede the final one", () => {
  everyWay(
    "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
    (record) => {
      assert.equal(
        record.heads.map(([status]) => status),
        [103, 200],
      );
      assert.is(record.body, "x");
      assert.equal(record.ends, [true]);
    },
  );
});

test("ten interim responses are read, and no more", () => {
  const hint = "HTTP/1.1 103 Early Hints\r\n\r\n";
  const last = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
  assert.is(read([hint.repeat(10) + last]).heads.length, 11);
  assert.throws(
    () => read([hint.repeat(11) + last]),
    (error: unknown) => error instanceof ProtocolError,
  );
});

test("headers of one name are joined, and names with a meaning in JavaScript are ordinary names", () => {
  const { heads } = read([
    "HTTP/1.1 200 OK\r\nA: 1\r\na:2\r\nempty:\r\n__proto__: x\r\ncontent-length: 0\r\n\r\n",
  ]);
  assert.is(heads[0]?.[1]["a"], "1, 2");
  assert.is(heads[0]?.[1]["empty"], "");
  assert.ok(Object.hasOwn(heads[0]?.[1] ?? {}, "__proto__"));
});

test("an uncertain end makes the connection unusable for another response", () => {
  const unfit = [
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: x, Close\r\n\r\nx",
    "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx",
    "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  ];
  for (const text of unfit) everyWay(text, ({ ends }) => assert.equal(ends, [false]));
  const keepAlive = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\nx";
  everyWay(keepAlive, ({ ends }) => assert.equal(ends, [true]));
});

test("bytes after a response raise an error and make the connection unusable", () => {
  const text = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
  const reusableFlags: boolean[] = [];
  const reader = new ResponseReader({
    head: () => {},
    data: () => {},
    end: (reusable) => void reusableFlags.push(reusable),
  });
  reader.expect();
  assert.throws(
    () => reader.push(Buffer.from(`${text}HTTP/1.1 200 OK\r\n`)),
    /belong to no response/,
  );
  assert.equal(reusableFlags, [false]);
  const idle = read([text]).reader;
  assert.throws(() => idle.push(Buffer.from("x")), /belong to no response/);
});

test("an invalid response is refused", () => {
  refuses("SSH-2.0-OpenSSH_9.2\r\n", /not an HTTP/);
  refuses("HTTP/2 200 OK\r\n\r\n", /not an HTTP/);
  refuses("HTTP/1.1 20 OK\r\n\r\n", /not an HTTP/);
  refuses("HTTP/1.1 2000 OK\r\n\r\n", /not an HTTP/);
  refuses("HTTP/1.1 101 Switching Protocols\r\n\r\n", /switch of protocols/);
  refuses("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", /broken header/);
  refuses("HTTP/1.1 200 OK\r\na: 1\r\n folded\r\n\r\n", /broken header/);
  refuses("HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\n", /broken header/);
  refuses("HTTP/1.1 200 OK\r\ncontent-length: 5x\r\n\r\n", /not a number/);
  refuses("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n", /not a number/);
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  refuses(`${chunked}\r\n`, /without a size/);
  refuses(`${chunked}-1\r\n`, /without a size/);
  refuses(`${chunked}5x\r\n`, /not a number/);
  refuses(`${chunked}ffffffffffffffff\r\n`, /too many digits/);
  refuses(`${chunked}1\r\nxy\r\n`, /missing line end/);
  refuses(`${chunked}1;${"e".repeat(5000)}`, /too long/);
  refuses(`${chunked}0\r\n${"t".repeat(5000)}`, /too long/);
});

test("an endless head is refused", () => {
  const parts = [
    "HTTP/1.1 200 OK\r\n",
    ...Array.from({ length: 70 }, (_, i) => `h${i}: ${"x".repeat(1000)}\r\n`),
  ];
  assert.throws(() => read(parts), /too large/);
});

test.run();
