/** Half a document is an error, never news: however it was cut off, and whatever it is. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

let source: Server;
let handler: RequestListener = (_req, res) => void res.end();
let at = "";
let gateway: InProcessGateway;

const test = suite("documents that are cut off");
test.before(async () => {
  source = createServer((req, res) => handler(req, res));
  await new Promise<void>((resolve) => source.listen(0, "127.0.0.1", resolve));
  at = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
  gateway = await startGateway({ config: { polls: { settleMs: 250 } } });
});
test.after(async () => {
  await gateway.stop();
  source.closeAllConnections();
  await new Promise((resolve) => source.close(resolve));
});

interface Result {
  status: string;
  count: number;
  error?: string;
}

/** A poll that checks only on request. */
const SLEEPING = { every: "1h", status: "disabled" };

async function poll(spec: Record<string, unknown>): Promise<() => Promise<Result>> {
  const { id } = await gateway.json("POST", "/polls", { ...SLEEPING, ...spec });
  return () => gateway.json("POST", `/polls/${id}/run`);
}

/** A few cuts through a text, from its very beginning to just before its end. */
const cuts = (text: string, least = 1): string[] => {
  const ends = [
    least,
    text.length >> 2,
    text.length >> 1,
    text.length - 20,
    text.length - 8,
    text.length - 2,
    text.length - 1,
  ];
  return [...new Set(ends)]
    .filter((end) => end >= least && end < text.length)
    .map((end) => text.slice(0, end));
};

const send = (body: string | Buffer, type: string): void => {
  handler = (_req, res) => void res.writeHead(200, { "content-type": type }).end(body);
};

const items = (...ids: number[]): string =>
  ids.map((id) => `<item><guid>${id}</guid><title>t${id}</title></item>`).join("");
const rss = (...ids: number[]): string =>
  `<?xml version="1.0"?><rss><channel><title>x</title>${items(...ids)}</channel></rss>`;
const atom = (...ids: number[]): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom">${ids.map((id) => `<entry><id>${id}</id><title>t</title></entry>`).join("")}</feed>`;
const json = (...ids: number[]): string =>
  JSON.stringify({ items: ids.map((id) => ({ id: String(id), title: `t${id}` })) });
const html = (...ids: number[]): string =>
  `<!doctype html><html><body><ul>${ids.map((id) => `<li>entry ${id}</li>`).join("")}</ul><script>x()</script></body></html>`;

const KINDS: [string, Record<string, unknown>, (...ids: number[]) => string, string][] = [
  ["an RSS feed", { kind: "feed" }, rss, "application/rss+xml"],
  ["an Atom feed", { kind: "feed" }, atom, "application/atom+xml"],
  ["a JSON Feed", { kind: "feed" }, json, "application/feed+json"],
  ["a JSON list", { kind: "json", items: "items", key: "id" }, json, "application/json"],
  ["a page", { kind: "html" }, html, "text/html"],
  ["a part of a page", { kind: "html", selector: "li" }, html, "text/html"],
  ["a document of JSON", { kind: "http" }, json, "application/json"],
  ["a document of XML", { kind: "http" }, rss, "text/xml"],
  ["a document of HTML", { kind: "http" }, html, "text/html"],
];

for (const [name, spec, make, type] of KINDS) {
  test(`${name}: every cut is an error, and what follows fires once`, async () => {
    const run = await poll({ source: { ...spec, url: at } });
    send(make(1, 2), type);
    assert.is((await run()).status, "baseline");
    for (const half of cuts(make(1, 2, 3, 4))) {
      send(half, type);
      const { status, count } = await run();
      assert.equal([status, count], ["error", 0], half);
    }
    send(make(1, 2, 3, 4), type);
    assert.is((await run()).status, "changed");
    assert.is((await run()).status, "unchanged");
  });
}

test("a first check of half a document sets no baseline", async () => {
  for (const [name, spec, make, type] of KINDS.filter(([, { kind }]) => kind !== "html")) {
    if (type === "text/html") continue;
    const run = await poll({ source: { ...spec, url: at } });
    send(make(1, 2).slice(0, -30), type);
    assert.is((await run()).status, "error", name);
    send(make(1, 2), type);
    assert.is((await run()).status, "baseline", name);
  }
  const broken = await poll({ source: { kind: "feed", url: at }, fireOnFirst: true });
  send("<rss><channel><item><title>broken", "text/xml");
  assert.is((await broken()).status, "error");
});

test("connections that end too early, by length, by chunk, in compressed data, and without either", async () => {
  const run = await poll({ source: { kind: "html", url: at } });
  const whole = html(1);
  const half = html(1, 2).slice(0, 60);
  send(whole, "text/html");
  assert.is((await run()).status, "baseline");
  const endings: RequestListener[] = [
    (_req, res) => {
      res.writeHead(200, { "content-length": "1000" });
      res.write(half, () => res.destroy());
    },
    (_req, res) => {
      res.writeHead(200, { "transfer-encoding": "chunked" });
      res.write(half, () => res.destroy());
    },
    (_req, res) =>
      void res
        .writeHead(200, { "content-encoding": "gzip" })
        .end(gzipSync(html(1, 2)).subarray(0, 40)),
    ({ socket }) => void socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n${half}`),
  ];
  for (const [i, ending] of endings.entries()) {
    handler = ending;
    const { status, error } = await run();
    assert.is(status, "error", `ending ${i}`);
    assert.match(error!, /cut off/, `ending ${i}`);
  }
  const fresh = await poll({ source: { kind: "html", url: at } });
  assert.is(
    (await fresh()).status,
    "error",
    "a page that only the connection's end closes, and that lacks its own",
  );
  send(html(1, 2), "text/html");
  assert.is((await run()).count, 1);
});

test("pages that never say where they end are read as they are", async () => {
  const run = await poll({ source: { kind: "html", url: at } });
  send("<!doctype html><html><p>one", "text/html");
  assert.is((await run()).status, "baseline");
  send("<!doctype html><html><p>two", "text/html");
  assert.is((await run()).status, "changed");
  const text = await poll({ source: { kind: "http", url: at } });
  send("[info] one\n", "text/plain");
  assert.is((await text()).status, "baseline");
  send("[info] one\n[info] two\n", "text/plain");
  assert.is((await text()).status, "changed");
});

test("a file that is being written to is waited for, or an error; in a directory it is left to the next check", async () => {
  const dir = join(gateway.home, "workspace");
  mkdirSync(join(dir, "drop"), { recursive: true });
  const file = join(dir, "log.txt");
  writeFileSync(file, "start\n");
  const { id } = await gateway.json("POST", "/polls", {
    ...SLEEPING,
    source: { kind: "file", path: "log.txt" },
  });
  const within = (timeoutMs: number) => gateway.json("PATCH", `/polls/${id}`, { timeoutMs });
  const run = (): Promise<Result> => gateway.json("POST", `/polls/${id}/run`);
  const inDir = await poll({ source: { kind: "file", path: "drop", match: "*.txt" } });
  assert.is((await run()).status, "baseline");
  assert.is((await inDir()).status, "baseline");
  let text = "start\n";
  let lines = 0;
  let isWriting = true;
  // At every turn of the loop that the gateway shares: however busy the machine is, it never sees the file left alone.
  const write = (): void => {
    if (!isWriting) return;
    text += `line ${++lines}\n`;
    writeFileSync(file, text);
    writeFileSync(join(dir, "drop", "big.txt"), text);
    setImmediate(write);
  };
  write();
  try {
    assert.is((await inDir()).status, "unchanged");
    await within(1000);
    assert.match(JSON.stringify(await run()), /being written/);
  } finally {
    isWriting = false;
  }
  await within(60_000);
  assert.is((await run()).count, 1);
  assert.is((await run()).status, "unchanged");
  assert.is((await inDir()).count, 1);
  assert.is((await inDir()).status, "unchanged");
  const list = join(dir, "list.json");
  writeFileSync(list, json(1));
  const whole = await poll({ source: { kind: "file", path: "list.json" } });
  assert.is((await whole()).status, "baseline");
  writeFileSync(list, json(1, 2).slice(0, -5));
  assert.match((await whole()).error!, /cut off/);
  writeFileSync(`${list}.new`, json(1, 2));
  renameSync(`${list}.new`, list);
  assert.is((await whole()).count, 1);
});

test("a partial response without a range request is an error", async () => {
  for (const [source, status] of [
    [{ kind: "http", url: `${at}/part` }, "error"],
    [{ kind: "http", url: `${at}/part`, headers: { Range: "bytes=0-3" } }, "changed"],
  ] as const) {
    send("whole", "text/plain");
    const run = await poll({ source });
    await run();
    handler = (_req, res) =>
      void res
        .writeHead(206, { "content-type": "text/plain", "content-range": "bytes 0-3/5" })
        .end("part");
    assert.is((await run()).status, status);
  }
});

test.run();
