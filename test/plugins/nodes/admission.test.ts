/** Which nodes are let in, and what the others are told. */
import { once } from "node:events";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { HEADER } from "../../../plugins/nodes/wire.ts";
import { startGateway } from "../../support/gateway.ts";
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
    assert.match(wrong.output(), /refuses the token/);
    const none = start({ gateway: url, name: "handler" });
    assert.is(await none.exited, 1);
    assert.match(none.output(), /--token/);
    await joinAs("handler", browser).says("Connected to");
    const second = joinAs("handler", browser);
    assert.is(await second.exited, 1);
    assert.match(second.output(), /name handler: choose another one with --name/);
    assert.is(await stateOf(browser, "handler"), "connected");
  } finally {
    await stopAll();
    await browser.stop();
  }
});

test("a wrong knock is refused before there is a WebSocket", async () => {
  const gateway = await startGateway();
  try {
    const refused = async (headers: Record<string, string>): Promise<number> => {
      const socket = knock(gateway, "stranger", headers);
      socket.on("error", () => {});
      const [, answer] = await once(socket, "unexpected-response");
      socket.terminate();
      return answer.statusCode;
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
