/** Every route of the control API through a node: two processes, two homes, and no browser beside the gateway. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { ROUTES } from "../../../plugins/browser/declarations/routes.ts";
import {
  type Answer,
  type BrowserGateway,
  type Site,
  startBrowser,
  startSite,
} from "../browser/support.ts";
import { until } from "../../support/until.ts";
import { type NodeProcess, spawnNode } from "./support.ts";
import { headlessBrowser } from "../../support/machine/prepare.ts";

const PAGE = `<!doctype html><title>Form</title>
  <label>Name <input id=name></label>
  <label>File <input id=file type=file></label>
  <button onclick="document.title = document.querySelector('#name').value || 'pressed'">Go</button>
  <button onclick="document.title = 'answer ' + confirm('Sure?')">Ask</button>
  <button onclick="file.click()">Choose</button>
  <a href="/report.txt" download>Get it</a>
  <script>
    console.warn("a warning");
    localStorage.setItem("here", "yes");
    fetch("/data.json").then((answer) => answer.text());
    file.onchange = async () => { document.title = file.files[0].name + ":" + await file.files[0].text(); };
    setTimeout(() => { throw new Error("an error"); }, 0);
  </script>`;

/** Temporary files of this process only, since other processes use the same directories. */
const own = (name: string): string => `${process.pid}-${name}`;
const used = new Set<string>();
const root = join(tmpdir(), "portico");
let site: Site;
let browser: BrowserGateway;
let node: NodeProcess;

/** Fails with the gateway's error. */
async function ok(answer: Promise<Answer>, route: string): Promise<any> {
  used.add(route);
  const { status, body } = await answer;
  assert.is(status, 200, `${route}: ${JSON.stringify(body)}`);
  return body;
}
const get = (path: string, query?: Record<string, unknown>, route = path) =>
  ok(browser.get(path, query), `GET ${route}`);
const post = (path: string, body?: unknown, route = path) =>
  ok(browser.post(path, body), `POST ${route}`);

function upload(name: string, text: string): string {
  mkdirSync(join(root, "uploads"), { recursive: true, mode: 0o700 });
  writeFileSync(join(root, "uploads", name), text);
  return name;
}

test.before(async () => {
  site = await startSite({
    "/": PAGE,
    "/data.json": (_req, res) =>
      res.writeHead(200, { "content-type": "application/json" }).end('{"n":1}'),
    "/report.txt": (_req, res) =>
      res
        .writeHead(200, { "content-disposition": "attachment; filename=report.txt" })
        .end("figures ".repeat(100_000)),
  });
  browser = await startBrowser({ executablePath: "/nowhere/chrome" });
  const { url, token } = browser.gateway;
  node = spawnNode({
    gateway: url,
    token,
    name: "handler",
    config: { browser: { ...headlessBrowser, profiles: { work: {} } } },
  });
  await node.says("Connected to");
});

test.after(async () => {
  await node?.stop();
  await browser?.stop();
  await site?.stop();
});

test("lifecycle and profiles work on the node", async () => {
  const before = await get("/");
  assert.is(before.running, false);
  assert.is(before.node, "handler");
  const { profiles } = await get("/profiles");
  assert.ok(profiles.some(({ name }: { name: string }) => name === "work"));
  assert.is((await post("/start")).ok, true);
  assert.is((await get("/")).running, true);
  assert.is((await post("/profiles/create", { name: "fresh" })).profile, "fresh");
  const deleted = await ok(browser.del("/profiles/fresh"), "DELETE /profiles/:name");
  assert.is(deleted.ok, true);
  assert.is((await post("/reset-profile", { name: "work" })).profile, "work");
});

test("tabs, navigation and actions work through the node", async () => {
  const opened = await post("/tabs/open", { url: site.url });
  const { tabs } = await get("/tabs");
  assert.ok(tabs.some(({ targetId }: { targetId: string }) => targetId === opened.targetId));
  await post("/tabs/focus", { targetId: opened.targetId });
  await ok(browser.del(`/tabs/${opened.targetId}`), "DELETE /tabs/:targetId");
  assert.is((await post("/navigate", { url: site.url })).url, `${site.url}/`);
  const { snapshot } = await get("/snapshot");
  assert.match(snapshot, 'button "Go"');
  await post("/act", { kind: "type", ref: await browser.ref("Name"), text: "Ada" });
  await post("/act", { kind: "click", ref: await browser.ref("Go") });
  const { result } = await post("/act", { kind: "evaluate", fn: "document.title" });
  assert.is(result, "Ada");
  await post("/highlight", { ref: await browser.ref("Go") });
});

test("screenshots arrive over the connection and are stored on the gateway", async () => {
  const { path, width } = await post("/screenshot");
  assert.ok(path.startsWith(join(root, "screenshots", "handler-")), path);
  assert.is(readFileSync(path).readUInt32BE(16), width);
  const labelled = await get("/snapshot", { labels: true });
  assert.ok(existsSync(labelled.path) && labelled.path.startsWith(root), labelled.path);
  const pdf = await post("/pdf");
  assert.is(readFileSync(pdf.path).subarray(0, 4).toString(), "%PDF");
  for (const [route, type] of [
    ["/screenshot", "image/png"],
    ["/pdf", "application/pdf"],
  ] as const) {
    const response = await browser.gateway.request(
      "POST",
      route,
      {},
      { server: "browser", headers: { accept: type } },
    );
    assert.is(response.headers.get("content-type"), type);
    assert.ok((await response.arrayBuffer()).byteLength > 500);
  }
  for (const file of [path, labelled.path, pdf.path]) rmSync(file);
  assert.not(
    existsSync(join(node.home, "state/tmp/screenshots", path.split("handler-")[1] ?? "")),
    "the node kept it",
  );
});

test("downloads and traces are in the gateway's roots, under the caller's names", async () => {
  await browser.visit(site.url);
  const ref = await browser.ref("Get it");
  const { download } = await post("/download", { ref, path: `${own("through-node")}/mine.txt` });
  assert.is(download.path, join(root, "downloads", own("through-node"), "mine.txt"));
  assert.is(readFileSync(download.path, "utf8"), "figures ".repeat(100_000));
  const escaping = await browser.post("/download", { ref, path: "../../elsewhere" });
  assert.is(escaping.status, 400);
  assert.is(escaping.body.error.param, "path");
  const waiting = post("/wait/download", { path: `${own("through-node")}/second.txt` });
  await post("/act", { kind: "click", ref });
  assert.is(
    (await waiting).download.path,
    join(root, "downloads", own("through-node"), "second.txt"),
  );
  await post("/trace/start");
  await post("/act", { kind: "press", key: "Tab" });
  const trace = await post("/trace/stop", { path: own("through-node.zip") });
  assert.is(trace.path, join(root, own("through-node.zip")));
  assert.is(readFileSync(trace.path).subarray(0, 2).toString(), "PK");
  rmSync(trace.path);
  rmSync(join(root, "downloads", own("through-node")), { recursive: true });
});

test("uploads go from the gateway to the node", async () => {
  await browser.visit(site.url);
  const title = async (): Promise<string> =>
    (await browser.act("evaluate", { fn: "document.title" })).body.result;
  const arrived = (text: string) =>
    post("/act", { kind: "wait", fn: `document.title === ${JSON.stringify(text)}` });
  const paths = [upload(own("to-node.txt"), "carried")];
  await post("/act", { kind: "upload", ref: await browser.ref("File"), paths });
  await arrived(`${own("to-node.txt")}:carried`);
  await post("/hooks/file-chooser", { paths: [upload(own("armed.txt"), "and chosen")] });
  await post("/act", { kind: "click", ref: await browser.ref("Choose") });
  await arrived(`${own("armed.txt")}:and chosen`);
  const nested = {
    kind: "upload",
    ref: await browser.ref("File"),
    paths: [upload(own("batch.txt"), "x".repeat(3_000_000))],
  };
  await post("/act", { kind: "batch", actions: [nested] });
  await arrived(`${own("batch.txt")}:${"x".repeat(3_000_000)}`);
  const outside = await browser.post("/hooks/file-chooser", { paths: ["/etc/passwd"] });
  assert.is(outside.status, 400);
  assert.is(outside.body.error.param, "paths[0]");
  assert.is(await title(), `${own("batch.txt")}:${"x".repeat(3_000_000)}`);
  for (const name of ["to-node.txt", "armed.txt", "batch.txt"])
    rmSync(join(root, "uploads", own(name)));
});

test("console output, cookies, storage and dialogs work through the node", async () => {
  await browser.visit(site.url);
  const { messages } = await get("/console", { level: "warning" });
  assert.ok(messages.length > 0);
  await until("the error", async () => (await get("/errors")).errors.length > 0);
  await until(
    "the request",
    async () => (await get("/requests", { filter: "data.json" })).requests.length > 0,
  );
  assert.is((await post("/response/body", { url: "**/data.json" })).response.body, '{"n":1}');
  await post("/cookies/set", { cookie: { name: "a", value: "1", url: site.url } });
  assert.is((await get("/cookies")).cookies[0].value, "1");
  await post("/cookies/clear");
  const kind = "/storage/:kind";
  assert.is((await get("/storage/local", {}, kind)).values.here, "yes");
  await post("/storage/local/set", { key: "k", value: "v" }, `${kind}/set`);
  await post("/storage/local/clear", {}, `${kind}/clear`);
  assert.equal((await get("/storage/local", {}, kind)).values, {});
  await post("/hooks/dialog", { accept: true });
  await post("/act", { kind: "click", ref: await browser.ref("Ask") });
  await post("/act", { kind: "wait", fn: "document.title === 'answer true'" });
});

test("saved states are stored on the gateway", async () => {
  await browser.visit(site.url);
  await post("/cookies/set", { cookie: { name: "kept", value: "1", url: site.url } });
  const saved = await post("/state/save", { path: own("through-node.json") });
  assert.is(saved.path, join(root, own("through-node.json")));
  assert.match(readFileSync(saved.path, "utf8"), "kept");
  await post("/cookies/clear");
  await post("/state/load", { path: own("through-node.json") });
  assert.is((await get("/cookies")).cookies[0].name, "kept");
  await post("/cookies/clear");
  for (const path of ["/etc/passwd", "../x"])
    assert.is((await browser.post("/state/load", { path })).body.error.param, "path");
  rmSync(saved.path);
});

test("overrides", async () => {
  await post("/set/offline", { offline: true });
  await post("/set/offline", { offline: false });
  await post("/set/headers", { headers: { "x-a": "b" } });
  await post("/set/credentials", { username: "u", password: "p" });
  await post("/set/geolocation", { latitude: 1, longitude: 2 });
  await post("/set/media", { colorScheme: "dark" });
  await post("/set/permissions", { permissions: ["geolocation"] });
  await post("/set/timezone", { timezoneId: "Asia/Tokyo" });
  await post("/set/locale", { locale: "de-DE" });
  await post("/set/device", { name: "iPhone 13" });
  const zone = await post("/act", {
    kind: "evaluate",
    fn: "Intl.DateTimeFormat().resolvedOptions().timeZone",
  });
  assert.is(zone.result, "Asia/Tokyo");
});

test("errors of the node are the route's own", async () => {
  const response = await browser.act("click", { ref: 9999 });
  assert.is(response.status, 404);
  assert.is(response.body.error.code, "ref_not_found");
  const blocked = await browser.post("/navigate", { url: "file:///etc/passwd" });
  assert.is(blocked.body.error.code, "navigation_blocked");
  const own = await browser.post("/navigate", { url: browser.gateway.url });
  assert.is(
    own.body.error.code,
    "navigation_blocked",
    "the gateway's ports are out of bounds for the node too",
  );
  const bad = await browser.post("/navigate", {});
  assert.is(bad.body.error.param, "url");
  assert.is((await browser.get("/", { profile: "nobody" })).body.error.code, "profile_not_found");
});

test("stop works, and no route was left out", async () => {
  assert.is((await post("/stop")).stopped, true);
  assert.is((await browser.get("/snapshot")).body.error.code, "browser_not_running");
  const missing = ROUTES.map(({ name }) => name).filter((name) => !used.has(name));
  assert.equal(missing, []);
});

test.run();
