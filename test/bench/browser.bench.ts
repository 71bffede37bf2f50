/** The control API against playwright-core used directly, in the same run and on the same pages. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { startGateway } from "../support/gateway.ts";

const ROUNDS = 25;
const EXECUTABLE = process.env["CHROMIUM"] ?? "/usr/lib/chromium/chromium";

const PAGE = `<title>Bench</title>${Array.from({ length: 60 }, (_, i) => `<section><h2>Part ${i}</h2><p>Some text ${i}</p><a href="#${i}">Link ${i}</a><input aria-label="Field ${i}"></section>`).join("")}<button onclick="this.textContent='Press'">Press</button>`;
const MANY = `<title>Many</title>${Array.from({ length: 100 }, (_, i) => `<script src="/s/${i}.js"></script>`).join("")}`;

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function timed(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < rounds + 3; i++) {
    const start = performance.now();
    await work();
    // The first ones warm caches up.
    if (i >= 3) times.push(performance.now() - start);
  }
  return median(times);
}

export default async function bench() {
  const server = createServer((req, res) => {
    const script = req.url?.startsWith("/s/");
    res.writeHead(200, { "content-type": script ? "text/javascript" : "text/html", "cache-control": "no-store" });
    res.end(script ? "window.n=(window.n||0)+1" : req.url === "/many" ? MANY : PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = await startGateway({
    config: { browser: { headless: true, noSandbox: true, executablePath: EXECUTABLE } },
  });
  const base = await gateway.serverUrl("browser");
  const headers = { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" };
  async function call(method: string, path: string, body?: unknown, accept = "application/json") {
    const response = await fetch(base + path, {
      method,
      headers: { ...headers, accept },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return accept === "application/json"
      ? ((await response.json()) as never as Record<string, never>)
      : response.arrayBuffer();
  }
  const launch = (): Promise<Browser> =>
    chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-background-networking"] });
  const figures: { what: string; value: number; unit: string; limit?: number; ratioTo?: string }[] = [];
  try {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let i = 0; i < 4; i++) {
      let start = performance.now();
      await call("POST", "/tabs/open", {});
      if (i > 0) ours.push(performance.now() - start);
      await call("POST", "/stop");
      start = performance.now();
      const direct = await launch();
      await direct.newPage();
      if (i > 0) theirs.push(performance.now() - start);
      await direct.close();
    }
    const compare = (what: string, own: number, direct: number, factor: number, plus = 0): void => {
      figures.push({ what: `${what}, playwright-core directly`, value: direct, unit: "ms" });
      figures.push({
        what,
        value: own,
        unit: "ms",
        limit: direct * factor + plus,
        ratioTo: `${what}, playwright-core directly`,
      });
    };
    compare("start to the first tab", median(ours), median(theirs), 1.2);

    const direct = await launch();
    const page: Page = await (await direct.newContext({ viewport: { width: 1280, height: 713 } })).newPage();
    await page.goto(url);
    await call("POST", "/navigate", { url });
    const snapshot = (await call("GET", "/snapshot")) as unknown as { refs: Record<string, { name?: string }> };
    await page.ariaSnapshot({ mode: "ai" });
    const ref = Object.entries(snapshot.refs).find(([, info]) => info.name === "Press")![0];
    const button = page.getByRole("button", { name: "Press" });
    compare(
      "snapshot",
      await timed(ROUNDS, () => call("GET", "/snapshot")),
      await timed(ROUNDS, () => page.ariaSnapshot({ mode: "ai" })),
      1.15,
      3,
    );
    compare(
      "click",
      await timed(ROUNDS, () => call("POST", "/act", { kind: "click", ref })),
      await timed(ROUNDS, () => button.click()),
      1.15,
      3,
    );
    compare(
      "evaluate",
      await timed(ROUNDS, () => call("POST", "/act", { kind: "evaluate", fn: "() => document.title" })),
      await timed(ROUNDS, () => page.evaluate("document.title")),
      1.15,
      3,
    );
    compare(
      "screenshot",
      await timed(ROUNDS, () => call("POST", "/screenshot", {}, "image/*")),
      await timed(ROUNDS, () => page.screenshot()),
      1.15,
      3,
    );

    const viaProxy = await timed(10, () => call("POST", "/navigate", { url: `${url}/many`, waitUntil: "load" }));
    compare("page with 100 scripts through the proxy", viaProxy, await timed(10, () => page.goto(`${url}/many`)), 1.25);
    await call("POST", "/navigate", { url });
    figures.push({
      what: "a stale reference",
      value: await timed(ROUNDS, () => call("POST", "/act", { kind: "click", ref })),
      unit: "ms",
      limit: 50,
    });
    await direct.close();
  } finally {
    await gateway.stop();
    server.closeAllConnections();
    server.close();
  }
  return { name: "browser control", figures };
}
