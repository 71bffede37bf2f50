/** Requests that are sent before the responses to those before them have come. */
import { connect, type Socket } from "node:net";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";
import { waitForText, until } from "../../support/until.ts";
import { ask, collect } from "../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../support/routes.ts";

const test = suite("http: pipelined requests");
test.after(stopRoutes);

async function startHere() {
  const gateway = await startRoutes();
  gateway.route("POST", "/json", { access: "public" }, async (call) => ({
    got: await call.json(),
  }));
  gateway.route("POST", "/small", { access: "public", maxBodyBytes: 100 }, async (call) =>
    call.json(),
  );
  gateway.route("POST", "/ignore", { access: "public" }, () => ({ ok: true }));
  gateway.route("GET", "/secret", { access: "control" }, () => "state");
  const head = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`;
  const chunked = (path: string, size: number) =>
    `${head(path, "transfer-encoding: chunked")}${size.toString(16)}\r\n${" ".repeat(size)}\r\n0\r\n\r\n`;
  const requests = {
    plain: `${head("/json", "content-length: 1")}1`,
    large: chunked("/small", 200),
    unread: chunked("/ignore", 2),
    nothing: chunked("/nothing", 2),
    refused: `GET /secret HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nconnection: close\r\n\r\n`,
    broken: "GET / HTTP/1.1\r\nhost : x\r\n\r\n",
  };
  return Object.assign(gateway, requests);
}

/**
 * The status of each response on one connection that sends `bytes`, `pieceBytes` at a time; and `behind` once `last` has
 * come: who writes to a connection that was closed loses what it has not read.
 */
async function statuses(
  port: number,
  bytes: string,
  pieceBytes = bytes.length,
  last = "",
  behind = "",
) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const text = collect(socket);
  const ended = waitForText(socket, `HTTP/1.1 ${last}`).catch(() => {});
  for (const part of [bytes, behind]) {
    for (let i = 0; i < part.length && !socket.destroyed; i += pieceBytes) {
      socket.write(part.slice(i, i + pieceBytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
  }
  const statusCodes = (await text).match(/(?<=HTTP\/1.1 )\d+/g) ?? [];
  socket.destroy();
  return statusCodes;
}

test("requests after one that ends the connection receive no response and do no harm", async () => {
  const gateway = await startHere();
  const { plain, large, unread, nothing, refused, broken } = gateway;
  const rows = [
    [large + plain + plain, ["413"]],
    [unread + large + plain, ["200", "413"]],
    [nothing + plain + plain + nothing, ["404"]],
    [plain + nothing + plain + nothing, ["200", "404"]],
    [plain + plain + large + plain, ["200", "200", "413"]],
    [refused + plain + large, ["401"]],
    [plain + refused + nothing, ["200", "401"]],
    [plain + broken + plain, ["200"]],
    [broken + plain, ["400"]],
  ] as const;
  for (const [bytes, expected] of rows) {
    assert.equal(await statuses(gateway.port, bytes), expected, expected.join());
    assert.is(
      (await ask(gateway, "POST", "/json", { "content-type": "application/json" }, "1")).status,
      200,
    );
  }
  await until("their end", () => gateway.active === 0);
});

test("the outcome is the same wherever the bytes are cut", async () => {
  const gateway = await startHere();
  for (const pieceBytes of [1, 7, 50, 160]) {
    assert.equal(
      await statuses(gateway.port, gateway.plain + gateway.large, pieceBytes, "413", gateway.plain),
      ["200", "413"],
    );
    assert.equal(
      await statuses(
        gateway.port,
        gateway.plain + gateway.refused,
        pieceBytes,
        "401",
        gateway.plain,
      ),
      ["200", "401"],
    );
  }
});

for (const [manner, leave] of [
  ["closes", (socket: Socket) => socket.destroy()],
  ["resets", (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  test(`a client that ${manner} the connection has left all of its requests, begun or done`, async () => {
    const gateway = await startRoutes();
    const counts = { left: 0, closed: 0, aborted: 0, called: 0 };
    gateway.route("GET", "/wait", { access: "public" }, (call) => {
      counts.called++;
      call.onDisconnect(() => counts.left++);
      call.signal.addEventListener("abort", () => counts.aborted++);
      call.res.once("close", () => counts.closed++);
      // one that writes a part, and one that is done while those before it are not
      if (call.query.has("part")) call.res.write("part");
      if (call.query.has("done")) call.res.end("done");
    });
    const get = (query: string) =>
      `GET /wait${query} HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n\r\n`;
    for (const [queries, most] of [
      [["", ""], 2],
      [["?part", "", "?part"], 3],
      [["", "?done", "", "?done"], 4],
      [["?done", "", "?part"], 2],
    ] as const) {
      Object.assign(counts, { left: 0, closed: 0, aborted: 0, called: 0 });
      const socket = connect(gateway.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(queries.map(get).join(""));
      await until("all to be asked", () => counts.called === queries.length);
      await until("those that are done", () => gateway.active === most);
      leave(socket);
      await until("their end", () => gateway.active === 0 && counts.closed === queries.length);
      assert.is(counts.left, most, queries.join());
      assert.is(counts.aborted, most, queries.join());
    }
    assert.is(gateway.active, 0);
  });
}

test.run();
