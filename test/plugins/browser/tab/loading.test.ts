/**
 * The network changes while a page is on its way, as where a laptop changes its Wi-Fi. In a network of its own: browsers of
 * other tests have theirs.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { describeNetworkError } from "../../../../plugins/browser/failures.ts";
import { retryOnNetworkChange } from "../../../../plugins/browser/tab/loading.ts";
import { isInNamespace, runInNamespace } from "../../../support/machine/in-namespace.ts";
import { PATIENCE_MS, until, untilRight } from "../../../support/until.ts";
import { type BrowserGateway, startBrowser } from "../support.ts";

const test = suite("browser: a network that changes");
const changed = new Error("page.goto: net::ERR_NETWORK_CHANGED at http://10.99.0.2/");

const ip = (...words: string[]) => execFileSync("ip", words);

/** Packets to 10.99.<n>.2 get lost, until that address is this machine's own. A change is that of another address. */
function lostNetwork(n: number): { host: string; changes(): void; comesBack(): void } {
  const [here, there] = [`lost${n}a`, `lost${n}b`];
  const host = `10.99.${n}.2`;
  ip("link", "add", here, "type", "veth", "peer", "name", there);
  ip("link", "set", there, "up");
  ip("link", "set", here, "up");
  ip("addr", "add", `10.99.${n}.1/24`, "dev", here);
  ip("neigh", "add", host, "lladdr", "02:00:00:00:00:01", "dev", here, "nud", "permanent");
  const add = (address: string) => void ip("addr", "add", `${address}/32`, "dev", "lo");
  return { host, changes: () => add(`10.98.${n}.1`), comesBack: () => add(host) };
}

/** The connections to that host that are not made yet. */
function connectionsTo(host: string): string[] {
  const address = Buffer.from(host.split(".").map(Number)).reverse().toString("hex").toUpperCase();
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  const fields = rows.map((row) => row.trim().split(/\s+/));
  const connecting = fields.filter(
    ([, , remote, state]) => remote?.startsWith(address) && state === "02",
  );
  return connecting.map(([, local]) => String(local));
}

/** While a page is on its way the network changes: that breaks off the load, and its server is there for the next one. */
async function loadsAllTheSame(browser: BrowserGateway, route: string, n: number): Promise<void> {
  const server = createServer((_, res) => res.end("<title>here again</title>"));
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const { host, changes, comesBack } = lostNetwork(n);
  const url = `http://${host}:${(server.address() as AddressInfo).port}/`;
  const loading = browser.post(route, { url, timeoutMs: PATIENCE_MS });
  const first = await until("the first load", () => connectionsTo(host).join());
  changes();
  await until("the next load", () =>
    connectionsTo(host).some((connection) => !first.includes(connection)),
  );
  comesBack();
  const { status, body } = await loading;
  server.close();
  assert.is(status, 200, JSON.stringify(body));
  // The browser learns a page's title a moment after the page.
  await untilRight(
    async () => (await browser.get("/tabs")).body.tabs as { title: string }[],
    (tabs) => tabs.some(({ title }) => title === "here again"),
  );
}

if (isInNamespace) {
  let browser: BrowserGateway;
  test.after.each(() => browser.stop());

  test("a page is loaded again", async () => {
    browser = await startBrowser();
    await browser.post("/tabs/open", { url: "about:blank" });
    await loadsAllTheSame(browser, "/navigate", 0);
    await loadsAllTheSame(browser, "/tabs/open", 1);
    const { requests } = (await browser.get("/requests")).body;
    const failures: (string | null)[] = requests.map(
      ({ failure }: { failure: string | null }) => failure,
    );
    assert.is(failures.pop(), null);
    // The library calls it aborted where the browser's error page is there before the reason is.
    assert.ok(
      failures.length > 0 &&
        failures.every((failure) => /^net::ERR_(NETWORK_CHANGED|ABORTED)$/.test(`${failure}`)),
    );
  });

  test("without the automation library, too", async () => {
    process.env["PORTICO_BROWSER_LIBRARY"] = "absent";
    browser = await startBrowser();
    await loadsAllTheSame(browser, "/tabs/open", 2);
  });
} else {
  test("a page is loaded again, with and without the automation library", () =>
    runInNamespace(import.meta.filename, {
      kinds: "mn",
      needs: "no network namespace can be made: 'ip' (iproute2) is needed",
    }));
}

test("a page is loaded again if the network changes again", async () => {
  let loads = 0;
  const load = async (): Promise<string> => {
    loads += 1;
    if (loads < 3) throw changed;
    return "loaded";
  };
  assert.equal([await retryOnNetworkChange(Date.now() + 60_000, load), loads], ["loaded", 3]);
});

test("a page is not loaded again after the caller's time-out", async () => {
  let loads = 0;
  const load = (): Promise<void> => {
    loads += 1;
    return Promise.reject(changed);
  };
  const failure = await retryOnNetworkChange(Date.now() + 10, load).catch((error: Error) => error);
  assert.equal([failure, loads], [changed, 1]);
  assert.is(
    describeNetworkError(changed.message),
    "the network changed while the page was loading",
  );
});

test("a page that fails for another reason is not loaded again", async () => {
  let loads = 0;
  const refused = new Error("page.goto: net::ERR_CONNECTION_REFUSED at http://10.99.0.2/");
  const load = (): Promise<void> => {
    loads += 1;
    return Promise.reject(refused);
  };
  const failure = await retryOnNetworkChange(Date.now() + 60_000, load).catch(
    (error: Error) => error,
  );
  assert.equal([failure, loads], [refused, 1]);
});

test.run();
