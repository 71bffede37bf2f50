/** A gateway with a real browser, and pages of the test's own to drive it on. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import type { OpenDebuggingServer } from "../../../plugins/browser/drivers/debugging/server.ts";
import {
  type InProcessGateway,
  type SpawnedGateway,
  spawnGateway,
  startGateway,
  type TestGateway,
  type TestOptions,
} from "../../support/gateway.ts";
import { headlessBrowser } from "../../support/machine/prepare.ts";
import { shared } from "../../support/runner/shared.ts";
import { PATIENCE_MS } from "../../support/until.ts";

export type Page = string | ((req: IncomingMessage, res: ServerResponse) => void);

export interface Site {
  url: string;
  port: number;
  /** The requested paths, in order. */
  hits: string[];
  stop(): Promise<void>;
}

/** A web site on 127.0.0.1: path → HTML, or a handler. */
export async function startSite(pages: Record<string, Page>): Promise<Site> {
  const hits: string[] = [];
  const server: Server = createServer((req, res) => {
    const path = new URL(req.url ?? "/", "http://x").pathname;
    hits.push(path);
    const page = pages[path];
    if (typeof page === "function") page(req, res);
    else if (page === undefined)
      res.writeHead(404, { "content-type": "text/html" }).end("<title>404</title>not here");
    else res.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hits,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A debugging port without requests. */
export const silentPort: OpenDebuggingServer = async (port) => ({
  port,
  serve() {},
  async close() {},
});

export interface Answer {
  status: number;
  body: any;
  headers: Headers;
}

/** An error of this status and code, whose message matches; told without a stack, a path or terminal colours. */
export function failed(
  response: Answer,
  status: number,
  code: string,
  words?: string | RegExp,
): void {
  assert.equal(
    [response.status, response.body.error?.code],
    [status, code],
    JSON.stringify(response.body),
  );
  if (words !== undefined) assert.match(response.body.error.message, words);
  assert.not.match(JSON.stringify(response.body), /\\u001b|\n\s+at |node_modules/);
}

/** The answer to what is tried until its limit, by the first limit that leaves the machine the time to say why. */
export async function triedLongEnough(
  attempt: (limit: { timeoutMs: number }) => Promise<Answer>,
): Promise<Answer> {
  for (let timeoutMs = 400; ; timeoutMs *= 4) {
    const response = await attempt({ timeoutMs });
    if (response.status !== 504 || timeoutMs > PATIENCE_MS) return response;
  }
}

/** A tab, or whichever was used last. */
export interface BrowserTab {
  get(path: string, query?: Record<string, unknown>): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  act(kind: string, fields?: Record<string, unknown>): Promise<Answer>;
  /** Loads a page and fails where it does not load. */
  visit(url: string): Promise<Answer>;
  /** The ref of the first element of that name (and role) in a fresh snapshot. */
  ref(name: string, role?: string): Promise<string>;
}

export interface BrowserGateway<Gateway extends TestGateway = InProcessGateway> extends BrowserTab {
  gateway: Gateway;
  del(path: string): Promise<Answer>;
  /** A tab of its own, in which all is done whatever happens in others. */
  openTab(): Promise<BrowserTab>;
  stop(): Promise<void>;
}

export type SharedBrowser = BrowserGateway<SpawnedGateway>;

/** What is done once it can be done. Its limit is longer than a busy machine takes, where a test says none. */
const LASTING = ["/snapshot", "/screenshot", "/pdf", "/navigate", "/tabs/open"];

const withPatience = (path: string, fields: object): object =>
  LASTING.includes(path) ? { timeoutMs: PATIENCE_MS, ...fields } : fields;

/** `browser` settings beside those that every machine needs. */
export async function startBrowser(
  browser: Record<string, unknown> = {},
  options: TestOptions = {},
): Promise<BrowserGateway> {
  const config = { ...options.config, browser: { ...headlessBrowser, ...browser } };
  return browserOf(await startGateway({ ...options, config }));
}

/** Settings that one of the files needs, and that the others do not mind. */
const SHARED = {
  ...headlessBrowser,
  maxTabs: 6,
  maxDownloadBytes: 20_000_000,
  snapshotDefaults: { mode: "efficient" },
  profiles: { usual: { cdpPort: 9222 } },
};

/** Sends a call to the browser's tool, and returns the visited pages. */
const PROBE = `import { definePlugin } from "portico";
  export default definePlugin({ name: "probe", setup(ctx) {
    const seen = [];
    ctx.on("browser:navigated", (event) => { seen.push(event.context.url); });
    ctx.route("GET", "/probe", { access: "gateway" }, () => seen);
    ctx.route("POST", "/probe", { access: "gateway" }, async (call) => {
      const tool = ctx.list("tool").find((one) => one.name === "browser");
      const access = await ctx.use("agent").access("owner");
      const about = { signal: call.signal, log: ctx.log, sessionKey: "probe", principal: "owner", access };
      try { return { result: await tool.handler(await call.json(), about) }; }
      catch (error) { return { error: { code: error.code, message: error.message } }; }
    });
  } });`;

/**
 * The gateway and the browser of those files of a process that test neither's start nor end: to start both takes a
 * second of processor time. Each file begins with one blank tab and without cookies; what it overrides, it clears.
 */
export async function sharedBrowser(): Promise<SharedBrowser> {
  const browser = await shared("browser", async () => {
    const gateway = await spawnGateway({
      config: { browser: SHARED },
      files: { "plugins/probe/plugin.js": PROBE },
    });
    return { ...browserOf(gateway), unref: gateway.unref };
  });
  if ((await browser.get("/")).body.running) {
    const { tabs } = (await browser.get("/tabs")).body as { tabs: { targetId: string }[] };
    const [last, ...others] = tabs.reverse();
    for (const { targetId } of others) await browser.del(`/tabs/${targetId}`);
    assert.is((await browser.post("/tabs/open", { url: "about:blank" })).status, 200);
    if (last) await browser.del(`/tabs/${last.targetId}`);
    assert.is((await browser.post("/cookies/clear")).status, 200);
  }
  // For the next file.
  return { ...browser, stop: async () => {} };
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

function browserOf<Gateway extends TestGateway>(gateway: Gateway): BrowserGateway<Gateway> {
  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await gateway.request(method, path, body, { server: "browser" });
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? undefined : JSON.parse(text),
      headers: response.headers,
    };
  }
  const any = tabOf(call);
  return {
    gateway,
    ...any,
    del: (path) => call("DELETE", path),
    async openTab() {
      const { status, body } = await any.post("/tabs/open", { url: "about:blank" });
      assert.is(status, 200, JSON.stringify(body));
      return tabOf(call, body.targetId);
    },
    stop: () => gateway.stop(),
  };
}

/** Whichever was used last, where none is named. */
function tabOf(call: Call, targetId?: string): BrowserTab {
  const inTab = (fields: unknown = {}) =>
    (targetId === undefined ? fields : { targetId, ...(fields as object) }) as object;
  const get: BrowserTab["get"] = (path, query) => {
    const search = new URLSearchParams(
      Object.entries(withPatience(path, inTab(query))).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
    );
    return call("GET", search.size > 0 ? `${path}?${search}` : path);
  };
  const post: BrowserTab["post"] = (path, body) =>
    call("POST", path, withPatience(path, inTab(body ?? {})));
  return {
    get,
    post,
    act: (kind, fields = {}) => post("/act", { kind, ...fields }),
    async visit(url) {
      const response = await post("/navigate", { url });
      if (response.status !== 200)
        throw new Error(`${url} did not load: ${JSON.stringify(response.body)}`);
      return response;
    },
    async ref(name, role) {
      const { body } = await get("/snapshot");
      type Info = { name?: string; role: string };
      const entry = Object.entries(body.refs as Record<string, Info>).find(
        ([, info]) => info.name === name && (role === undefined || info.role === role),
      );
      if (entry === undefined)
        throw new Error(`no ${role ?? "element"} "${name}" in:\n${body.snapshot}`);
      return entry[0];
    },
  };
}
