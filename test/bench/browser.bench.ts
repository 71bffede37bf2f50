/**
 * Compares the control API with direct use of playwright-core, in alternation on the same pages, each with its own browser.
 */
import { chromium, type Page } from "playwright-core";
import { BROWSER_CONFIG, findControl } from "./compare/areas/browser.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { median } from "./harness/measure.ts";
import { startSite } from "./harness/site.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 41;
const PAGE_ROUNDS = 21;
const START_ROUNDS = 5;
/** The number of rounds that only warm up caches. */
const WARM_UP = 3;
const { executablePath } = BROWSER_CONFIG.browser;

type Work = () => Promise<unknown>;

/**
 * Waits for a random time, so that the work starts at any point of a screen frame. A click ends with a frame of its browser.
 * Without the wait, two browsers at 60 frames per second would stay synchronised, and one would pay for the other's waiting.
 */
const waitRandomly = (): Promise<unknown> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * 50));

async function measureMs(work: Work): Promise<number> {
  await waitRandomly();
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Returns the medians in ms of two ways to do the same. They alternate, so that other work of the machine affects both. */
async function inTurns(
  rounds: number,
  own: Work,
  direct: Work,
): Promise<{ own: number; direct: number }> {
  const times: { own: number[]; direct: number[] } = { own: [], direct: [] };
  for (let round = -WARM_UP; round < rounds; round++) {
    const both = { direct: await measureMs(direct), own: await measureMs(own) };
    if (round < 0) continue;
    times.own.push(both.own);
    times.direct.push(both.direct);
  }
  return { own: median(times.own), direct: median(times.direct) };
}

const launch = () =>
  chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"] });

export default async function bench(): Promise<Bench> {
  build();
  const site = await startSite();
  const gateway = await startBuilt({ config: BROWSER_CONFIG });
  const { port } = await findControl(gateway);
  const headers = { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" };
  const figures: Figure[] = [];

  async function call(
    method: string,
    path: string,
    body?: object,
    accept = "application/json",
  ): Promise<any> {
    const init = {
      method,
      headers: { ...headers, accept },
      ...(body && { body: JSON.stringify(body) }),
    };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return accept === "application/json" ? response.json() : response.arrayBuffer();
  }
  function compare(
    what: string,
    { own, direct }: { own: number; direct: number },
    limit: number,
  ): void {
    const baseline = `${what}, playwright-core directly`;
    figures.push({ what: baseline, value: direct, unit: "ms" });
    figures.push({ what, value: own, unit: "ms", limit, ratioTo: baseline });
  }

  try {
    const starts: { own: number[]; direct: number[] } = { own: [], direct: [] };
    for (let round = 0; round <= START_ROUNDS; round++) {
      const own = await measureMs(() => call("POST", "/tabs/open", { url: "about:blank" }));
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
    const page: Page = await (
      await browser.newContext({ viewport: { width: 1280, height: 713 } })
    ).newPage();
    await page.goto(site);
    await call("POST", "/navigate", { url: site });
    const { refs } = (await call("GET", "/snapshot")) as {
      refs: Record<string, { name?: string }>;
    };
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

    const url = `${site}/many`;
    const loads = await inTurns(
      PAGE_ROUNDS,
      () => call("POST", "/navigate", { url, waitUntil: "load" }),
      () => page.goto(url),
    );
    compare("page with 100 scripts through the proxy", loads, loads.direct * 1.25);
    await call("POST", "/navigate", { url: site });
    const stale = await inTurns(
      ROUNDS,
      () => call("POST", "/act", { kind: "click", ref }),
      async () => {},
    );
    figures.push({ what: "a stale reference", value: stale.own, unit: "ms", limit: 50 });
    await browser.close();
  } finally {
    await end(gateway.process);
  }
  return { name: "browser control", figures };
}
