/** WebRTC speaks UDP, which no proxy sees: behind ours a page gets none of it. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { findBrowser } from "../../../../plugins/browser/drivers/executables.ts";
import { launch } from "../../../../plugins/browser/drivers/launch.ts";
import { loadLibrary } from "../../../../plugins/browser/drivers/playwright.ts";
import { makeHome } from "../../../support/gateway.ts";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import { type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: WebRTC");
let site: Site;
let socket: Socket;
let packets = 0;

test.before(async () => {
  site = await startSite({ "/": "<title>Call</title>" });
  socket = createSocket("udp4").on("message", () => packets++);
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
});
test.after(async () => {
  socket.close();
  await site.stop();
});
test.before.each(() => {
  packets = 0;
});

/** Asks STUN and TURN servers at the socket, and calls a peer that is said to be there; the answer is what it found. */
const call = (port: number): string => `async () => {
  const urls = ["stun:127.0.0.1:${port}", "turn:127.0.0.1:${port}?transport=udp"];
  const servers = { iceServers: urls.map((url) => ({ urls: url, username: "a", credential: "b" })) };
  const [caller, called] = [new RTCPeerConnection(servers), new RTCPeerConnection(servers)];
  const found = [];
  const gathered = [caller, called].map((peer) => new Promise((done) => {
    peer.onicecandidate = ({ candidate }) => candidate ? found.push(candidate.candidate) : done();
  }));
  caller.createDataChannel("data");
  await caller.setLocalDescription();
  await called.setRemoteDescription(caller.localDescription);
  await called.setLocalDescription();
  await caller.setRemoteDescription(called.localDescription);
  await caller.addIceCandidate({ candidate: "candidate:1 1 udp 2113937151 127.0.0.1 ${port} typ host", sdpMid: "0" });
  await Promise.race([Promise.all(gathered), new Promise((done) => setTimeout(done, 3000))]);
  return found;
}`;

test("sends UDP from a browser without the proxy, so that the test would see it", async () => {
  const dir = makeHome("portico-webrtc-");
  const browser = await launch({
    executablePath: await findBrowser(undefined),
    dir,
    headless: true,
    noSandbox: true,
    color: "#000000",
    timeoutMs: PATIENCE_MS,
  });
  try {
    const { connect } = await loadLibrary();
    const options = { timeoutMs: PATIENCE_MS, isLocal: true, noDefaults: false, artifactsDir: dir };
    const [page] = (await connect(browser.clients.primary, options)).contexts()[0]!.pages();
    await page!.goto(site.url);
    void page!.evaluate(`(${call(socket.address().port)})()`).catch(() => {});
    await until("a packet", () => packets > 0);
  } finally {
    await browser.stop();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
});

for (const dangerouslyAllowPrivateNetwork of [true, false]) {
  const policy = dangerouslyAllowPrivateNetwork ? "trusting" : "strict";
  test(`sends none behind the proxy, under the ${policy} policy`, async () => {
    const ssrfPolicy = { dangerouslyAllowPrivateNetwork, allowedHostnames: ["open.localhost"] };
    const browser = await startBrowser({ ssrfPolicy });
    try {
      await browser.visit(`http://open.localhost:${site.port}/`);
      const { status, body } = await browser.act("evaluate", { fn: call(socket.address().port) });
      assert.is(status, 200, JSON.stringify(body));
      assert.equal(
        body.result.filter((candidate: string) => / udp /i.test(candidate)),
        [],
      );
      // The calls to the peer would follow by now.
      await browser.act("wait", { timeMs: 1000 });
      assert.is(packets, 0);
    } finally {
      await browser.stop();
    }
  });
}
test.run();
