/** WebRTC speaks UDP, which no proxy sees. That a page gets none of it behind ours is with the policies' tests. */
import { rmSync } from "node:fs";
import { suite } from "../../../support/suite.ts";
import { findBrowser } from "../../../../plugins/browser/drivers/executables.ts";
import { launch } from "../../../../plugins/browser/drivers/launch.ts";
import { loadLibrary } from "../../../../plugins/browser/drivers/playwright.ts";
import { makeHome } from "../../../support/gateway.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import { startSite } from "../support.ts";
import { call, startPeer } from "./peers.ts";

const test = suite("browser: WebRTC");

test("sends UDP from a browser without the proxy, so that the tests would see it", async () => {
  const [site, peer] = await Promise.all([startSite({ "/": "<title>Call</title>" }), startPeer()]);
  const dir = makeHome("portico-webrtc-");
  const browser = await launch({
    executablePath: await findBrowser(headlessBrowser.executablePath),
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
    void page!.evaluate(`(${call(peer.port)})()`).catch(() => {});
    await until("a packet", () => peer.packets() > 0);
  } finally {
    await browser.stop();
    peer.stop();
    await site.stop();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
});

test.run();
