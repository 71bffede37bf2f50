/** The admission of nodes, and the errors that refused ones receive. */
import { EventEmitter, once } from "node:events";
import type { PluginContext } from "portico";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { WebSocket } from "ws";
import { Registry } from "../../../plugins/nodes/gateway/registry.ts";
import { HEADER } from "../../../plugins/nodes/wire.ts";
import { startGateway } from "../../support/gateway.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { until, untilRight } from "../../support/until.ts";
import { startBrowser } from "../browser/support.ts";
import { createNodes, knock, NO_BROWSER, stateOf } from "./support.ts";

const { joinAs, start, stopAll } = createNodes();

test.after.each(stopAll);

test("a refused node says why and ends", async () => {
  const browser = await startBrowser(NO_BROWSER);
  try {
    const { url } = browser.gateway;
    const wrong = start({ gateway: url, token: "wrong", name: "handler" });
    assert.is(await wrong.exited, 1);
    assert.match(wrong.output(), /gateway\.auth\.token/);
    const none = start({ gateway: url, name: "handler" });
    assert.is(await none.exited, 1);
    assert.match(none.output(), /--token/);
    await joinAs("handler", browser).says("Connected to");
    const second = joinAs("handler", browser);
    assert.is(await second.exited, 1);
    assert.match(second.output(), /handler.*--name/s);
    assert.is(await stateOf(browser, "handler"), "connected");
  } finally {
    await stopAll();
    await browser.stop();
  }
});

/** Returns the status of a connection request: 101, or the refusal's. */
async function answerTo(socket: WebSocket): Promise<number> {
  socket.on("error", () => {});
  const open = once(socket, "open").then(() => 101);
  const refused = once(socket, "unexpected-response").then(
    ([, response]) => response.statusCode as number,
  );
  return Promise.race([open, refused]);
}

test("the address of a node is the one that a trusted proxy names", async () => {
  const gateway = await startGateway({ config: { gateway: { trustedProxies: ["127.0.0.1"] } } });
  try {
    const socket = knock(gateway, "behind", { "x-forwarded-for": "198.51.100.9, 203.0.113.7" });
    assert.is(await answerTo(socket), 101);
    socket.send(
      JSON.stringify({ t: "hello", version: "1", platform: "x", browser: true, profiles: [] }),
    );
    const listed = async () => (await gateway.json("GET", "/nodes")).nodes as { address: string }[];
    const [node] = await untilRight(listed, (all) => all.length > 0);
    assert.is(node?.address, "203.0.113.7");
    socket.close();
  } finally {
    await gateway.stop();
  }
});

test("a name is reserved from the moment a node connects until it disconnects", async () => {
  const gateway = await startGateway();
  const as = (identity: string): WebSocket =>
    knock(gateway, "twin", { [HEADER.identity]: identity });
  try {
    const first = as("identity-1");
    assert.is(await answerTo(first), 101);
    assert.is(await answerTo(as("identity-2")), 409, "though the first has not said what it is");
    const again = as("identity-1");
    assert.is(await answerTo(again), 101, "it is the first node that came back");
    for (const socket of [first, again]) socket.close();
    await until("the name to be free", async () => (await answerTo(as("identity-2"))) === 101);
  } finally {
    await gateway.stop();
  }
});

test("a node that was admitted while another took its name is rejected without harm", async () => {
  const log = quietLog();
  const registry = new Registry({
    ctx: { log, version: "1", paths: { tmp: "" } } as unknown as PluginContext,
    config: () => ({ browser: { mode: "auto" }, heartbeatMs: 60_000, maxFileBytes: 1 }),
  });
  const connect = await registry.prepare();
  const join = (identity: string) => {
    const messages: unknown[][] = [];
    const socket = Object.assign(new EventEmitter(), {
      OPEN: 1,
      readyState: 1,
      send() {},
      ping() {},
      terminate() {},
      close: (...closeArguments: unknown[]) => void messages.push(closeArguments),
    });
    const node = { name: "twin", identity, address: "" };
    registry.admit({ ...node, name: "another" });
    connect(node, socket as never);
    const hello = { t: "hello", version: identity, platform: "x", browser: true, profiles: [] };
    socket.emit("message", Buffer.from(JSON.stringify(hello)), false);
    return { said: messages, socket };
  };
  const [first, second] = [join("identity-1"), join("identity-2")];
  assert.equal(first.said, []);
  assert.equal(second.said, [[4409, "another node has this name"]]);
  assert.equal(
    registry.list().map(({ version, state }) => `${version} ${state}`),
    ["identity-1 connected"],
  );
  first.socket.emit("close", 1000, Buffer.alloc(0));
});

test("new credentials of the gateway close the connections that the old ones opened", async () => {
  const gateway = await startGateway({ config: { gateway: { auth: { token: "the-old-token" } } } });
  try {
    const socket = knock({ ...gateway, token: "the-old-token" }, "laptop");
    await once(socket, "message");
    const ended = once(socket, "close");
    gateway.write(
      "portico.json",
      JSON.stringify({ gateway: { port: 0, auth: { token: "the-new-token" } } }),
    );
    const [code, reason] = await ended;
    assert.equal([code, String(reason)], [1008, "the gateway's credentials have changed"]);
    assert.is(await answerTo(knock({ ...gateway, token: "the-old-token" }, "laptop")), 401);
    assert.is(await answerTo(knock({ ...gateway, token: "the-new-token" }, "laptop")), 101);
  } finally {
    await gateway.stop();
  }
});

test("a connected node receives changed settings", async () => {
  const auth = { token: "the-token" };
  const gateway = await startGateway({ config: { gateway: { auth } } });
  try {
    const socket = knock(gateway, "laptop");
    await once(socket, "message");
    const next = once(socket, "message");
    const nodes = { heartbeatMs: 60_000, maxFileBytes: 7 };
    gateway.write("portico.json", JSON.stringify({ gateway: { port: 0, auth, nodes } }));
    const { t, heartbeatMs, maxFileBytes } = JSON.parse(String((await next)[0]));
    assert.equal({ t, heartbeatMs, maxFileBytes }, { t: "welcome", ...nodes });
  } finally {
    await gateway.stop();
  }
});

test("an invalid connection request is refused before the WebSocket exists", async () => {
  const gateway = await startGateway();
  try {
    const refused = async (headers: Record<string, string>): Promise<number> => {
      const socket = knock(gateway, "stranger", headers);
      socket.on("error", () => {});
      const [, response] = await once(socket, "unexpected-response");
      socket.terminate();
      return response.statusCode;
    };
    assert.is(await refused({ [HEADER.protocol]: "99" }), 426);
    assert.is(await refused({ authorization: "Bearer wrong" }), 401);
    assert.is(await refused({ [HEADER.identity]: "../.." }), 400);
    assert.is(await refused({ [HEADER.name]: "%2Fetc" }), 400);
  } finally {
    await gateway.stop();
  }
});

test.run();
