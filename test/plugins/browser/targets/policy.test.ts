import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import { type BrowserGateway, failed, type Site, startBrowser, startSite } from "../support.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";
import { sendsNoUdp } from "./peers.ts";

const FORBIDDEN = [
  "file:///etc/hostname",
  "FILE:///etc/hostname",
  "view-source:http://127.0.0.1/",
  "chrome://version",
  "data:text/html,hi",
  "javascript:alert(1)",
  "blob:http://127.0.0.1/x",
  "devtools://devtools",
  "ftp://127.0.0.1/",
  "about:version",
  "ws://127.0.0.1/",
  " file:///etc/hostname",
];
const ALWAYS = [
  "http://169.254.169.254/latest/meta-data",
  "http://[fd00:ec2::254]/",
  "http://metadata.google.internal/",
  "http://168.63.129.16/",
  "http://[fe80::1]/",
  "http://0xa9fea9fe/",
];

const trusting = suite("browser: the trusting policy");
let browser: BrowserGateway;
let site: Site;
trusting.before(async () => {
  site = await startSite({
    "/": "<title>Here</title>here",
    "/own": (_req, res) =>
      res.writeHead(302, { location: String(new URL(browser.gateway.url)) }).end(),
    "/file": (_req, res) => res.writeHead(302, { location: "file:///etc/hostname" }).end(),
  });
  browser = await startBrowser();
});
trusting.after(async () => {
  await browser.stop();
  await site.stop();
});

trusting("says at the start that private addresses may be reached", () => {
  assert.ok(
    browser.gateway.lines.some(({ msg }) => /dangerouslyAllowPrivateNetwork/.test(String(msg))),
  );
});

trusting(
  "lets private pages be opened, and refuses schemes, metadata, link-local and the gateway's own ports",
  async () => {
    await browser.visit(site.url);
    const own = [
      browser.gateway.url,
      await browser.gateway.serverUrl("browser"),
      (await browser.get("/")).body.cdpUrl,
      "http://127.0.0.1:18850/",
      `http://localhost:${browser.gateway.port}/`,
    ];
    for (const url of [...FORBIDDEN, ...ALWAYS, ...own]) {
      for (const path of ["/navigate", "/tabs/open"]) {
        const response = await browser.post(path, { url });
        assert.ok(
          response.status === 403 || (response.status === 400 && url === "about:version"),
          `${path} ${url} ${response.status}`,
        );
        assert.is(response.body.error.code, "navigation_blocked", url);
      }
    }
    failed(await browser.post("/navigate", { url: "not a url" }), 400, "invalid_request_error");
    assert.is((await browser.get("/tabs")).body.tabs.length, 1, "a refused tab does not stay");
  },
);

trusting("a redirect to a port of the gateway is refused, and the page does not stay", async () => {
  const response = await browser.post("/navigate", { url: `${site.url}/own` });
  failed(response, 403, "navigation_blocked");
  assert.is(response.body.error.reason ?? response.body.error.details?.reason, "own_port");
  // Which takes its time on a busy core; until then nobody reads it.
  const left = await until("the page to be left", async () => {
    const snapshot = await browser.get("/snapshot");
    if (snapshot.status === 200) return snapshot.body;
    failed(snapshot, 403, "navigation_blocked");
  });
  assert.is(left.url, "about:blank");
  assert.ok((await browser.post("/navigate", { url: `${site.url}/file` })).status >= 400);
});

trusting("a page cannot reach the gateway's own ports either", async () => {
  await browser.visit(site.url);
  const { cdpUrl } = (await browser.get("/")).body;
  for (const url of [browser.gateway.url, `${cdpUrl}/json/version`]) {
    const { body } = await browser.act("evaluate", {
      fn: `fetch(${JSON.stringify(url)}, { mode: "no-cors" }).then((r) => r.type, () => "failed")`,
    });
    if (body.result === "failed") continue;
    // The page may hear of the answer before we do.
    const status = await until("the answer to be told", async () => {
      const { requests } = (await browser.get("/requests", { filter: new URL(url).host })).body;
      return requests.at(-1)?.status;
    });
    assert.is(status, 403, `${url} ${body.result}`);
  }
});

const NO_UDP = "WebRTC sends nothing past the proxy";
trusting(NO_UDP, () => sendsNoUdp(browser, site.url));

/** Changes the policy of the running gateway for good. */
function set(ssrfPolicy: object): void {
  const { token } = browser.gateway;
  const config = {
    gateway: { port: 0, auth: { token } },
    browser: { ...headlessBrowser, ssrfPolicy },
  };
  browser.gateway.write("portico.json", JSON.stringify(config));
}

trusting("a stricter policy ends what is open", async () => {
  let begun = (): void => {};
  const open = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let ended = (): void => {};
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const page = await startSite({
    "/": "<title>ok</title>",
    "/events": (_req, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      res.once("close", ended);
      begun();
    },
  });
  try {
    await browser.visit(page.url);
    await browser.act("evaluate", { fn: "void (window.source = new EventSource('/events'))" });
    await open;
    set({ hostnameAllowlist: ["ok.localhost"] });
    await over;
    failed(await browser.get("/snapshot"), 403, "navigation_blocked");
  } finally {
    await page.stop();
  }
});

trusting("a list of allowed hosts restricts to the list, and *.d leaves out d", async () => {
  const page = await startSite({ "/": "<title>ok</title>" });
  try {
    set({ hostnameAllowlist: ["*.ok.localhost", "127.0.0.1"] });
    await until(
      "the list to hold",
      async () => (await browser.post("/navigate", { url: page.url })).status === 200,
    );
    await browser.visit(`http://a.ok.localhost:${page.port}/`);
    for (const host of ["ok.localhost", "localhost", "notok.localhost"])
      failed(
        await browser.post("/navigate", { url: `http://${host}:${page.port}/` }),
        403,
        "navigation_blocked",
      );
  } finally {
    await page.stop();
  }
});

trusting.run();

const strict = suite("browser: public addresses only");
let guarded: BrowserGateway;
let open: Site;
let victim: Site;
let bare: { port: number; connections: number; close(): void };

strict.before(async () => {
  victim = await startSite({ "/": "victim", "/x.js": "1", "/ws": "no" });
  let connections = 0;
  const tcp = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  bare = {
    port: (tcp.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    close: () => tcp.close(),
  };
  const aim = victim.url;
  open = await startSite({
    "/": "<title>Open</title><p>fine",
    "/302": (_req, res) => res.writeHead(302, { location: `${aim}/` }).end(),
    "/307": (_req, res) =>
      res.writeHead(307, { location: `http://localhost:${victim.port}/` }).end(),
    "/meta": `<meta http-equiv="refresh" content="0;url=${aim}/">`,
    "/script": `<script>location.href=${JSON.stringify(`${aim}/`)}</script>`,
    "/late": `<script>onload=()=>setTimeout(()=>{location.href=${JSON.stringify(`${aim}/`)}},400)</script>`,
    "/traps": `<title>Traps</title><img src="${aim}/x.png"><script src="${aim}/x.js"></script><link rel="stylesheet" href="${aim}/x.css"><link rel="prefetch" href="${aim}/p"><link rel="preconnect" href="${aim}"><link rel="icon" href="${aim}/i">
      <iframe src="${aim}/"></iframe><iframe src="http://0x7f000001:${victim.port}/"></iframe><iframe src="http://[::ffff:127.0.0.1]:${victim.port}/"></iframe><iframe src="http://localhost.:${victim.port}/"></iframe>
      <object data="${aim}/o"></object><video src="${aim}/v"></video><style>body{background:url(${aim}/bg)}</style>
      <form id="f" action="${aim}/form" method="post" target="_blank"></form><a id="a" href="${aim}/popup" target="_blank">Popup</a><button onclick="window.open('${aim}/opened')">Window</button><button onclick="f.submit()">Submit</button>
      <script>window.done=[];const d=(n)=>()=>done.push(n);
        for(const u of ['${aim}/fetch','http://2130706433:${victim.port}/','http://127.1:${victim.port}/','http://x.localhost:${victim.port}/','http://[::1]:${victim.port}/','http://0.0.0.0:${victim.port}/'])fetch(u,{mode:'no-cors'}).then(d(u),d(u));
        navigator.sendBeacon('${aim}/beacon','x');new EventSource('${aim}/events');
        try{new WebSocket('ws://127.0.0.1:${victim.port}/ws').onerror=d('ws')}catch{}
        try{new WebSocket('ws://127.0.0.1:${bare.port}/').onerror=d('bare')}catch{}
        new Worker(URL.createObjectURL(new Blob(["fetch('${aim}/worker',{mode:'no-cors'}).then(()=>postMessage(1),()=>postMessage(1))"]))).onmessage=d('worker');
        try{const pc=new RTCPeerConnection({iceServers:[{urls:'stun:127.0.0.1:${bare.port}'},{urls:'turn:127.0.0.1:${bare.port}?transport=tcp',username:'a',credential:'b'}]});pc.createDataChannel('x');pc.createOffer().then(o=>pc.setLocalDescription(o))}catch{}
      </script>`,
  });
  // The site is on a private address as well: only its name is exempted.
  guarded = await startBrowser({
    ssrfPolicy: { dangerouslyAllowPrivateNetwork: false, allowedHostnames: ["open.localhost"] },
  });
});
strict.after(async () => {
  await guarded.stop();
  await open.stop();
  await victim.stop();
  bare.close();
});

const at = (path: string): string => `http://open.localhost:${open.port}${path}`;

strict("every spelling of a private address is refused before anything is sent", async () => {
  const port = victim.port;
  const spellings = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.1",
    "0x7f.1",
    "0177.0.0.1",
    "2130706433",
    "0x7f000001",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "0.0.0.0",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "100.64.0.1",
    "x.localhost",
    "printer.local",
    "[fc00::1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
  ];
  for (const host of spellings) {
    const response = await guarded.post("/navigate", { url: `http://${host}:${port}/` });
    failed(response, 403, "navigation_blocked");
  }
  failed(
    await guarded.post("/tabs/open", { url: `http://user:pw@127.0.0.1:${port}/` }),
    403,
    "navigation_blocked",
  );
  assert.equal(victim.hits, []);
  assert.is((await guarded.get("/")).body.running, false, "nothing was started for it");
});

strict("redirects, refreshes and scripts lead nowhere", async () => {
  assert.is((await guarded.visit(at("/"))).body.status, 200);
  for (const path of ["/302", "/307"]) {
    failed(await guarded.post("/navigate", { url: at(path) }), 403, "navigation_blocked");
    failed(await guarded.post("/tabs/open", { url: at(path) }), 403, "navigation_blocked");
  }
  for (const path of ["/meta", "/script"]) {
    // Noticed while loading, or right afterwards.
    const response = await guarded.post("/navigate", { url: at(path) });
    if (response.status !== 200) failed(response, 403, "navigation_blocked");
  }
  await guarded.visit(at("/late"));
  await until("the page to go there", async () => (await guarded.get("/snapshot")).status === 403);
  const reads = [
    await guarded.get("/snapshot"),
    await guarded.post("/screenshot"),
    await guarded.get("/console"),
    await guarded.post("/pdf"),
    await guarded.act("evaluate", { fn: "1" }),
    await guarded.get("/snapshot", { format: "aria" }),
  ];
  for (const read of reads) failed(read, 403, "navigation_blocked");
  assert.equal(victim.hits, []);
});

strict("nothing on a page reaches a private address", async () => {
  await guarded.visit(at("/traps"));
  await guarded.act("wait", { fn: "done.length >= 9", timeoutMs: PATIENCE_MS });
  await guarded.act("click", { ref: await guarded.ref("Window") });
  await guarded.act("click", { ref: await guarded.ref("Popup") });
  await guarded.act("click", { ref: await guarded.ref("Submit") });
  await guarded.act("wait", { timeMs: 700 });
  assert.equal(victim.hits, []);
  assert.is(bare.connections, 0);
});

strict(NO_UDP, () => sendsNoUdp(guarded, at("/")));

strict.run();
