/**
 * The control API against playwright-core used directly, turn by turn on the same pages. Each has a process of its own,
 * and so has the site: a page's load is not paid for by the thread that measures it.
 */
import { Worker } from "node:worker_threads";
import { chromium, type Page } from "playwright-core";
import { spawnGateway } from "../support/gateway.ts";
import { findChromium } from "../support/machine/prepare.ts";
import { median } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 41;
const PAGE_ROUNDS = 21;
const START_ROUNDS = 5;
/** They warm caches up. */
const UNCOUNTED = 3;
const executablePath = findChromium();

const SITE = `
const { parentPort } = require("node:worker_threads");
const many = (count, part) => Array.from({ length: count }, (_, i) => part(i)).join("");
const page = "<title>Bench</title>" + many(60, (i) => "<section><h2>Part " + i + "</h2><p>Some text " + i + '</p><a href="#' + i + '">Link ' + i + '</a><input aria-label="Field ' + i + '"></section>')
  + "<button onclick=\\"this.textContent='Press'\\">Press</button>";
const scripts = "<title>Many</title>" + many(100, (i) => '<script src="/s/' + i + '.js"></script>');
const server = require("node:http").createServer((req, res) => {
  const script = req.url.startsWith("/s/");
  res.writeHead(200, { "content-type": script ? "text/javascript" : "text/html", "cache-control": "no-store" });
  res.end(script ? "window.n=(window.n||0)+1" : req.url === "/many" ? scripts : page);
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

type Work = () => Promise<unknown>;

/**
 * Begins anywhere within a frame of the screen. A click ends with a frame of its browser: begun back to back, two
 * browsers of 60 frames a second keep step, and one pays for what the other has to wait.
 */
const outOfStep = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, Math.random() * 50));

async function timed(work: Work): Promise<number> {
  await outOfStep();
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Medians, ms, of two ways to do the same. They take turns, so that whatever else the machine does meets both. */
async function inTurns(rounds: number, own: Work, direct: Work): Promise<{ own: number; direct: number }> {
  const times: { own: number[]; direct: number[] } = { own: [], direct: [] };
  for (let round = -UNCOUNTED; round < rounds; round++) {
    const both = { direct: await timed(direct), own: await timed(own) };
    if (round < 0) continue;
    times.own.push(both.own);
    times.direct.push(both.direct);
  }
  return { own: median(times.own), direct: median(times.direct) };
}

async function startSite(): Promise<{ url: string; stop: Work }> {
  const worker = new Worker(SITE, { eval: true });
  const port = await new Promise<number>((resolve, reject) => worker.once("error", reject).once("message", resolve));
  return { url: `http://127.0.0.1:${port}`, stop: () => worker.terminate() };
}

const launch = () => chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"] });

export default async function bench(): Promise<Bench> {
  const site = await startSite();
  const gateway = await spawnGateway({ config: { browser: { headless: true, noSandbox: true, executablePath } } });
  const base = await gateway.serverUrl("browser");
  const headers = { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" };
  const figures: Figure[] = [];

  async function call(method: string, path: string, body?: object, accept = "application/json"): Promise<any> {
    const init = { method, headers: { ...headers, accept }, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(base + path, init);
    return accept === "application/json" ? response.json() : response.arrayBuffer();
  }
  function compare(what: string, { own, direct }: { own: number; direct: number }, limit: number): void {
    const baseline = `${what}, playwright-core directly`;
    figures.push({ what: baseline, value: direct, unit: "ms" });
    figures.push({ what, value: own, unit: "ms", limit, ratioTo: baseline });
  }

  try {
    const starts: { own: number[]; direct: number[] } = { own: [], direct: [] };
    for (let round = 0; round <= START_ROUNDS; round++) {
      const own = await timed(() => call("POST", "/tabs/open", { url: "about:blank" }));
      await call("POST", "/stop");
      const opened = performance.now();
      const browser = await launch();
      await browser.newPage();
      const direct = performance.now() - opened;
      await browser.close();
      if (round === 0) continue;
      starts.own.push(own);
      starts.direct.push(direct);
    }
    const start = { own: median(starts.own), direct: median(starts.direct) };
    compare("start to the first tab", start, start.direct * 1.2);

    const browser = await launch();
    const page: Page = await (await browser.newContext({ viewport: { width: 1280, height: 713 } })).newPage();
    await page.goto(site.url);
    await call("POST", "/navigate", { url: site.url });
    const { refs } = (await call("GET", "/snapshot")) as { refs: Record<string, { name?: string }> };
    const ref = Object.keys(refs).find((key) => refs[key]?.name === "Press");
    const button = page.getByRole("button", { name: "Press" });
    const pairs: [string, Work, Work][] = [
      ["snapshot", () => call("GET", "/snapshot"), () => page.ariaSnapshot({ mode: "ai" })],
      ["click", () => call("POST", "/act", { kind: "click", ref }), () => button.click()],
      [
        "evaluate",
        () => call("POST", "/act", { kind: "evaluate", fn: "() => document.title" }),
        () => page.evaluate("document.title"),
      ],
      ["screenshot", () => call("POST", "/screenshot", {}, "image/*"), () => page.screenshot()],
    ];
    for (const [what, own, direct] of pairs) {
      const times = await inTurns(ROUNDS, own, direct);
      compare(what, times, times.direct * 1.15 + 3);
    }

    const url = `${site.url}/many`;
    const loads = await inTurns(
      PAGE_ROUNDS,
      () => call("POST", "/navigate", { url, waitUntil: "load" }),
      () => page.goto(url),
    );
    compare("page with 100 scripts through the proxy", loads, loads.direct * 1.25);
    await call("POST", "/navigate", { url: site.url });
    const stale = await inTurns(
      ROUNDS,
      () => call("POST", "/act", { kind: "click", ref }),
      async () => {},
    );
    figures.push({ what: "a stale reference", value: stale.own, unit: "ms", limit: 50 });
    await browser.close();
  } finally {
    await gateway.stop();
    await site.stop();
  }
  return { name: "browser control", figures };
}
