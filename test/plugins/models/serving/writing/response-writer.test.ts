/** How the body of a stream is framed for the peers that there are. */
import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import * as assert from "uvu/assert";
import { ResponseWriter } from "../../../../../plugins/models/serving/writing/response-writer.ts";
import { suite } from "../../../../support/suite.ts";

const test = suite("response writer");
let respond: (res: ServerResponse) => void;
const server = createServer((_, res) => respond(res));

test.before(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
test.after(() => void server.close());

/** Sends the requests, and returns everything that the server sends until it closes, or until `last` arrives. */
async function exchange(requests: string, last?: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("utf8");
  socket.write(requests);
  let text = "";
  for await (const bytes of socket) {
    text += bytes;
    if (last !== undefined && text.endsWith(last)) break;
  }
  socket.destroy();
  return text;
}

const bodyOf = (response: string) => response.slice(response.indexOf("\r\n\r\n") + 4);
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const END = "0\r\n\r\n";

test("writes within one turn form one chunk, both texts and bytes", async () => {
  respond = (res) => {
    res.writeHead(200, {});
    const out = new ResponseWriter(res, true, () => {});
    res.on("close", () => out.stop());
    out.write("ä");
    out.write(Buffer.from("bc"));
    out.write("");
    setTimeout(() => {
      out.write("d".repeat(20));
      out.end("e");
    }, 5);
  };
  assert.is(bodyOf(await exchange(GET, END)), `4\r\näbc\r\n15\r\n${"d".repeat(20)}e\r\n${END}`);
  respond = (res) => {
    res.writeHead(200, {});
    const out = new ResponseWriter(res, false, () => {});
    out.write("d".repeat(20_000));
    out.end(Buffer.from("é"));
  };
  assert.is(bodyOf(await exchange(GET, END)), `4e22\r\n${"d".repeat(20_000)}é\r\n${END}`);
});

test("an empty stream, a client of HTTP/1.0, a response with a length, and one that waits for another", async () => {
  respond = (res) => {
    res.writeHead(200, {});
    new ResponseWriter(res, false, () => {}).end();
  };
  assert.is(bodyOf(await exchange(GET, END)), END);
  respond = (res) => {
    res.writeHead(200, {});
    const out = new ResponseWriter(res, false, () => {});
    out.write("one ");
    out.end("two");
  };
  assert.is(bodyOf(await exchange("GET / HTTP/1.0\r\n\r\n")), "one two");
  assert.is(bodyOf(await exchange("HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")), "");
  respond = (res) => {
    res.setHeader("content-length", 7);
    res.writeHead(200);
    const out = new ResponseWriter(res, false, () => {});
    out.write("one ");
    out.end("two");
  };
  assert.is(bodyOf(await exchange(GET, "two")), "one two");
  let count = 0;
  respond = (res) => {
    const at = count++;
    res.writeHead(200, {});
    const out = new ResponseWriter(res, false, () => {});
    out.write(`${at}`);
    setTimeout(() => out.end(`-${at}`), at === 0 ? 20 : 0);
  };
  const both = (await exchange(GET + GET, `-1\r\n${END}`))
    .split("HTTP/1.1 200 OK")
    .slice(1)
    .map(bodyOf);
  assert.equal(
    both.map((body) => body.replace(/[0-9a-f]+\r\n(.*)\r\n/g, "$1")),
    ["0-0", "1-1"],
  );
});

test("the writer waits for a client that does not read, and continues when it reads", async () => {
  const drained = new Promise<number>((resolve) => {
    respond = (res) => {
      res.writeHead(200, {});
      let writes = 0;
      const out = new ResponseWriter(res, false, () => {
        out.end();
        resolve(writes);
      });
      const more = (): void => {
        writes++;
        if (out.write(Buffer.alloc(1024 * 1024)) && writes < 1000) setImmediate(more);
      };
      more();
    };
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  socket.write(GET);
  await once(server, "request");
  setTimeout(() => socket.resume(), 50);
  assert.ok((await drained) < 1000);
  let last = "";
  socket.on("data", (bytes: Buffer) => {
    last = (last + bytes.toString("latin1")).slice(-END.length);
    if (last === END) socket.end();
  });
  await once(socket, "close");
});

test.run();
