/** Which nodes are let in, and what the others are told. */
import { once } from "node:events";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { WebSocket } from "ws";
import { startBrowser } from "../browser/support.ts";
import { createNodes, NO_BROWSER, stateOf } from "./support.ts";

const { joinAs, start, stopAll } = createNodes();

test.after.each(stopAll);

test("a refused node says why and ends", async () => {
  const browser = await startBrowser(NO_BROWSER);
  try {
    const { url, token } = browser.gateway;
    const wrong = start({ gateway: url, token: "wrong", name: "desk" });
    assert.is(await wrong.exited, 1);
    assert.match(wrong.output(), /refuses the token/);
    const none = start({ gateway: url, name: "desk" });
    assert.is(await none.exited, 1);
    assert.match(none.output(), /--token/);
    await joinAs("desk", browser).says("Connected to");
    const second = joinAs("desk", browser);
    assert.is(await second.exited, 1);
    assert.match(second.output(), /name desk: choose another one with --name/);
    assert.is(await stateOf(browser, "desk"), "connected");
    const old = new WebSocket(`${url.replace("http", "ws")}/nodes/connect`, {
      headers: { authorization: `Bearer ${token}`, "x-portico-node-protocol": "99", "x-portico-node-name": "old" },
    });
    old.on("error", () => {});
    const [, answer] = await once(old, "unexpected-response");
    assert.is(answer.statusCode, 426);
    old.terminate();
    const stranger = new WebSocket(`${url.replace("http", "ws")}/nodes/connect`);
    stranger.on("error", () => {});
    const [, refusal] = await once(stranger, "unexpected-response");
    assert.is(refusal.statusCode, 401);
    stranger.terminate();
  } finally {
    await stopAll();
    await browser.stop();
  }
});

test.run();
