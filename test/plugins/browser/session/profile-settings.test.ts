/** The settings of a profile (proxy, user agent, switches), and its cookies and storage in a file. */
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { waitForText } from "../../../support/until.ts";
import { type BrowserGateway, failed, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: settings and state of a profile");
const root = join(tmpdir(), "portico");
const name = (end: string): string => `state-test-${process.pid}-${end}`;
const tunnels: string[] = [];
let refusing = false;
let browser: BrowserGateway;
let site: Site;

/** An HTTP proxy that accepts CONNECT, with credentials. */
const proxy = createServer((client: Socket) => {
  const head = waitForText(client, "\r\n\r\n");
  const recordConnection = (text: string): void => {
    tunnels.push(text);
    const [, host, port] = /^CONNECT ([\d.]+):(\d+) /.exec(text) ?? [];
    if (refusing || host === undefined) {
      client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const upstream = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    for (const end of [client, upstream])
      end.on("error", () => [client, upstream].map((socket) => socket.destroy()));
  };
  // One may go before it has asked.
  head.then(recordConnection, () => {});
  client.on("error", () => {});
});

test.before(async () => {
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  site = await startSite({
    "/": "<title>Site</title>site",
    "/agent": (req, res) =>
      res.writeHead(200, { "content-type": "text/html" }).end(`<p>${req.headers["user-agent"]}`),
  });
  const { port } = proxy.address() as AddressInfo;
  browser = await startBrowser({
    profiles: {
      behind: {
        proxy: `http://user:p%40ss@127.0.0.1:${port}`,
        userAgent: "Tester/1.0",
        args: ["--window-size=640,480"],
      },
    },
  });
});
test.after(async () => {
  await browser.stop();
  await site.stop();
  proxy.close();
  for (const end of ["a.json", "bad.json", "link.json"])
    rmSync(join(root, name(end)), { force: true });
});

const evaluate = async (fn: string, profile = "portico"): Promise<unknown> =>
  (await browser.act("evaluate", { fn, profile })).body.result;

test("cookies and storage are saved to a file and restored", async () => {
  await browser.visit(site.url);
  await browser.post("/cookies/set", { cookie: { name: "kept", value: "1", url: site.url } });
  await evaluate("localStorage.setItem('kept', 'yes')");
  const saved = await browser.post("/state/save", { path: name("a.json") });
  assert.equal(
    [saved.status, saved.body.cookies, saved.body.origins],
    [200, 1, 1],
    JSON.stringify(saved.body),
  );
  assert.is(saved.body.path, join(root, name("a.json")));
  assert.is(statSync(saved.body.path).mode & 0o777, 0o600);
  assert.match(readFileSync(saved.body.path, "utf8"), "kept");
  await browser.post("/cookies/clear");
  await browser.post("/cookies/set", { cookie: { name: "later", value: "2", url: site.url } });
  await evaluate("localStorage.clear()");
  await browser.post("/stop");
  await browser.post("/start");
  const loaded = await browser.post("/state/load", { path: name("a.json") });
  assert.equal(
    [loaded.status, loaded.body.cookies, loaded.body.origins],
    [200, 1, 1],
    JSON.stringify(loaded.body),
  );
  const { cookies } = (await browser.get("/cookies")).body;
  assert.equal(
    cookies.map((cookie: { name: string; value: string }) => `${cookie.name}=${cookie.value}`),
    ["kept=1"],
  );
  await browser.visit(site.url);
  assert.is(await evaluate("localStorage.getItem('kept')"), "yes");
  assert.is((await browser.get("/tabs")).body.tabs.length, 1);
});

test("only files of the temporary root are read and written, and only states", async () => {
  for (const path of ["../x.json", "/etc/passwd", "a/../../x", "", "\0", 7, null, undefined])
    for (const route of ["/state/save", "/state/load"])
      failed(await browser.post(route, { path }), 400, "invalid_request_error");
  failed(
    await browser.post("/state/load", { path: name("none.json") }),
    400,
    "invalid_request_error",
    "no such file",
  );
  symlinkSync("/etc/hostname", join(root, name("link.json")));
  for (const route of ["/state/save", "/state/load"])
    failed(await browser.post(route, { path: name("link.json") }), 400, "invalid_request_error");
  const wild = [
    "{",
    "[]",
    "null",
    '{"cookies":[],"origins":[{"origin":"file:///","localStorage":[]}]}',
    '{"cookies":[{"name":"a"}],"origins":[]}',
    '{"cookies":[],"origins":[{"origin":"http://169.254.169.254","localStorage":[]}]}',
    `{"cookies":${"[".repeat(100_000)}`,
  ];
  for (const text of wild) {
    writeFileSync(join(root, name("bad.json")), text);
    const response = await browser.post("/state/load", { path: name("bad.json") });
    assert.ok(
      [400, 403].includes(response.status),
      `${text.slice(0, 80)}: ${JSON.stringify(response.body)}`,
    );
  }
  assert.is((await browser.get("/cookies")).body.cookies.length, 1, "nothing was changed");
  failed(
    await browser.post("/state/save", { path: "x.json", profile: "behind" }),
    409,
    "browser_not_running",
  );
});

test("the proxy, user agent and switches of a profile take effect, and so does the policy", async () => {
  await browser.post("/navigate", { url: `${site.url}/agent`, profile: "behind" });
  assert.match(tunnels[0]!, `CONNECT 127.0.0.1:${site.port} HTTP/1.1`);
  assert.match(
    tunnels[0]!,
    `Proxy-Authorization: Basic ${Buffer.from("user:p@ss").toString("base64")}`,
  );
  assert.is(await evaluate("document.body.innerText", "behind"), "Tester/1.0");
  assert.is(await evaluate("outerWidth", "behind"), 640);
  const blocked = await browser.post("/navigate", {
    url: "http://169.254.169.254/",
    profile: "behind",
  });
  failed(blocked, 403, "navigation_blocked");
  refusing = true;
  const refused = await browser.post("/navigate", {
    url: `http://localhost:${site.port}/`,
    profile: "behind",
  });
  failed(refused, 422, "action_failed");
  const { profiles } = (await browser.get("/profiles")).body;
  assert.not.match(JSON.stringify(profiles), /p%40ss|p@ss|user:/);
});

test("switches that would open a port or weaken the guard are refused", async () => {
  const create = (fields: object) => browser.post("/profiles/create", { name: "made", ...fields });
  for (const arg of [
    "--remote-debugging-port=9222",
    "--remote-allow-origins=*",
    "--proxy-server=direct://",
    "--no-proxy-server",
    "--proxy-bypass-list=*",
    "--host-resolver-rules=MAP * 127.0.0.1",
    "--disable-web-security",
    "--allow-file-access-from-files",
    "--load-extension=/tmp/x",
    "--renderer-cmd-prefix=/bin/sh",
    "--user-data-dir=/tmp/other",
    "--enable-features=X",
    "--no-sandbox",
    "-remote-debugging-port=9222",
    "--Remote-Debugging-Port=9222",
    "file:///etc/passwd",
    "",
  ])
    failed(await create({ args: [arg] }), 400, "invalid_request_error");
  for (const fields of [
    { args: "--x" },
    { args: [7] },
    { proxy: "ftp://x" },
    { proxy: "x" },
    { userAgent: "a\nb" },
    { userAgent: "" },
  ])
    failed(await create(fields), 400, "invalid_request_error");
  failed(
    await create({ cdpUrl: "http://127.0.0.1:9", args: ["--mute-audio"] }),
    400,
    "invalid_request_error",
    "managed",
  );
  const made = await create({
    args: ["--force-device-scale-factor=2", "--disable-blink-features=AutomationControlled"],
    userAgent: "Mine/2",
  });
  assert.is(made.status, 200, JSON.stringify(made.body));
  await browser.post("/navigate", { url: `${site.url}/agent`, profile: "made" });
  assert.equal(await evaluate("[navigator.userAgent, devicePixelRatio]", "made"), ["Mine/2", 2]);
});

test.run();
