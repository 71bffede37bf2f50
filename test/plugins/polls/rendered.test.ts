/** A poll of a page that only a browser can read. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";
import { type SharedBrowser, sharedBrowser } from "../browser/support.ts";

let page: Server;
let at = "";
let entries = ["one"];
let browser: SharedBrowser;

const test = suite("polls of rendered pages");
test.before(async () => {
  page = createServer((req, res) => {
    if (req.url === "/away")
      return void res.writeHead(302, { location: "http://169.254.169.254/" }).end();
    if (req.url === "/gone")
      return void res.writeHead(404, { "content-type": "text/html" }).end("<p>gone</p>");
    const script = `for (const text of ${JSON.stringify(entries)}) list.append(Object.assign(document.createElement("li"), { textContent: text }))`;
    res
      .writeHead(200, { "content-type": "text/html" })
      .end(`<ul id=list></ul><script>${script}</script>`);
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  at = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser?.stop();
  page.closeAllConnections();
  await new Promise((resolve) => page.close(resolve));
});

async function poll(source: Record<string, unknown>) {
  const { gateway } = browser;
  const { id } = await gateway.json("POST", "/polls", {
    source: { browser: true, ...source },
    status: "disabled",
  });
  return () => gateway.json("POST", `/polls/${id}/run`);
}

test("content that scripts add to the page counts, and no tab stays open", async () => {
  const run = await poll({ kind: "html", url: at, selector: "li" });
  assert.equal((await run()).status, "baseline");
  assert.is((await run()).status, "unchanged");
  entries = ["one", "two"];
  assert.is((await run()).count, 1);
  const { body } = await browser.get("/tabs");
  assert.equal(
    body.tabs.filter(({ url }: { url: string }) => url.startsWith(at)),
    [],
  );
});

test("statuses, and pages that may not be reached, are errors", async () => {
  assert.match((await (await poll({ kind: "html", url: `${at}/gone` }))()).error, /404/);
  assert.is((await (await poll({ kind: "html", url: `${at}/away` }))()).status, "error");
  const own = await browser.gateway.request("POST", "/polls", {
    source: { kind: "html", browser: true, url: `http://127.0.0.1:${browser.gateway.port}/` },
  });
  assert.is(own.status, 403);
});

test.run();
