/** A server that has read enough responds and closes the connection during the upload. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import * as assert from "uvu/assert";
import { createUpstreamClient } from "../../../../plugins/models/upstream/http/upstream-client.ts";
import { test } from "../../../support/suite.ts";

for (const how of ["resets the connection", "closes it with bytes unread"])
  test(`a server's error is reported, although it ${how} before the body is whole`, async () => {
    let cut = () => {};
    const isCut = new Promise<void>((resolve) => {
      cut = resolve;
    });
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write(
          "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno",
          () => {
            if (how.startsWith("resets")) socket.resetAndDestroy();
            else socket.destroy();
            cut();
          },
        );
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const upstreams = createUpstreamClient({});
    const chunk = Buffer.alloc(100_000, "x");
    const body = {
      length: 3 * chunk.length,
      async *open() {
        yield chunk;
        // At this very moment nobody has read the response yet: the next write fails.
        await isCut;
        yield chunk;
        yield chunk;
      },
    };
    let text = "";
    const outcome = new Promise<[number, string]>((resolve, reject) => {
      let status = 0;
      upstreams.send(
        {
          method: "POST",
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
          headers: {},
          body,
        },
        {
          head: (responseStatus) => {
            status = responseStatus;
          },
          data: (bytes) => (text += bytes.toString()),
          end: () => resolve([status, text]),
          fail: reject,
        },
      );
    });
    try {
      assert.equal(await outcome, [413, "no"]);
    } finally {
      upstreams.close();
      server.close();
    }
  });

test.run();
