/** Sandboxed sessions, through the agent: a model of OpenAI's format asks for the tool, pages show which cookies came. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { removeFences } from "../../../support/fence.ts";
import { askAsKey, clientKey } from "../../../support/principals.ts";
import { until, untilRight } from "../../../support/until.ts";
import {
  type BrowserGateway,
  sharedBrowser,
  type Site,
  startBrowser,
  startSite,
} from "../support.ts";

interface Said {
  role: string;
  content: unknown;
}

/** A model that makes the tool calls of the user message, one per step, and replies with the tool's output. */
async function startModel(): Promise<{ server: Server; url: string }> {
  const server = createServer(async (req, res) => {
    let text = "";
    for await (const chunk of req) text += chunk;
    const { messages } = JSON.parse(text) as { messages: Said[] };
    const from = messages.findLastIndex(
      ({ role, content }) => role === "user" && String(content).startsWith("["),
    );
    const steps = JSON.parse(String(messages[from]?.content)) as object[];
    const results = messages.slice(from).filter(({ role }) => role === "tool");
    const next = steps[results.length];
    const message =
      next === undefined
        ? { role: "assistant", content: JSON.stringify(results.map(({ content }) => content)) }
        : {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: `call_${from}_${results.length}`,
                type: "function",
                function: { name: "browser", arguments: JSON.stringify(next) },
              },
            ],
          };
    res.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "scripted",
        choices: [{ index: 0, message, finish_reason: next === undefined ? "stop" : "tool_calls" }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

let site: Site;
let model: Awaited<ReturnType<typeof startModel>>;

/** A gateway with that sandbox; its pages may come from `localhost` alone, whatever is private. */
function start(
  sandbox: object,
  browser: object = {},
  more: Record<string, unknown> = {},
): Promise<BrowserGateway> {
  const config = {
    ...more,
    channels: { up: { provider: "openai", baseUrl: model.url, apiKey: "k" } },
    agents: { defaults: { model: "up/scripted", sandbox } },
  };
  return startBrowser({ ssrfPolicy: { allowedHostnames: ["localhost"] }, ...browser }, { config });
}

/** The output of the tool for each step of a turn. */
async function turn(
  { gateway }: BrowserGateway,
  session: string | undefined,
  ...steps: object[]
): Promise<string[]> {
  const body = {
    message: JSON.stringify(steps),
    wait: true,
    ...(session === undefined ? {} : { session }),
  };
  const { result } = await gateway.json("POST", "/agent", body);
  return (JSON.parse(result) as string[]).map(removeFences);
}

/** Less than the tool has in all, and enough for three browsers that start at once on a busy machine. */
const common = { timeoutMs: 140_000 };
const visit = (path: string): object => ({
  action: "navigate",
  url: `http://localhost:${site.port}${path}`,
  ...common,
});
const look = { action: "snapshot", ...common };
const sandboxes = ({ gateway }: BrowserGateway): string[] => {
  const dir = join(gateway.home, "state/browser-sandboxes");
  return existsSync(dir) ? readdirSync(dir) : [];
};

test.before(async () => {
  const page = (cookies: string | undefined): string =>
    `<title>page</title><h1>cookies: ${cookies ?? "none"}</h1>`;
  site = await startSite({
    "/": (req, res) =>
      res.writeHead(200, { "content-type": "text/html" }).end(page(req.headers.cookie)),
    "/mark": (req, res) => {
      const mark = new URL(req.url ?? "/", "http://x").searchParams.get("as");
      const cookie = `mark=${mark}; Max-Age=3600`;
      res
        .writeHead(200, { "content-type": "text/html", "set-cookie": cookie })
        .end(page(req.headers.cookie));
    },
  });
  model = await startModel();
});
test.after(async () => {
  model.server.closeAllConnections();
  await new Promise((resolve) => model.server.close(resolve));
  await site.stop();
});

test("two sandboxed sessions and the host share no cookie", async () => {
  const browser = await start({ mode: "all", browser: { allowHostControl: true } });
  const host = { target: "host" };
  try {
    const hostSteps = [visit("/mark?as=host"), visit("/"), look].map((step) => ({
      ...step,
      ...host,
    }));
    const [one, two] = await Promise.all([
      turn(browser, "one", visit("/mark?as=one"), visit("/"), look),
      turn(browser, "two", ...hostSteps, visit("/"), look, visit("/mark?as=two"), visit("/"), look),
    ]);
    assert.match(String(one[2]), "cookies: mark=one");
    assert.match(String(two[2]), "cookies: mark=host");
    assert.match(
      String(two[4]),
      "cookies: none",
      "the host's turn has a sandbox too, with nothing of the host's",
    );
    assert.match(String(two[7]), "cookies: mark=two");
    assert.is(sandboxes(browser).length, 2);
    const path = `state-of-${process.pid}.json`;
    const [saved] = await turn(browser, "two", { action: "stateSave", path, ...host });
    assert.match(String(saved), path);
    const [foreign, ownSaved, ownBack] = await turn(
      browser,
      "one",
      { action: "stateLoad", path },
      { action: "stateSave", path },
      { action: "stateLoad", path },
    );
    assert.match(String(foreign), "no such file", "what the host has saved is not for a sandbox");
    assert.match(String(ownSaved), '"cookies":1');
    assert.match(String(ownBack), '"cookies":1');
    assert.match(
      String((await turn(browser, "two", { action: "stateLoad", path }))[0]),
      "no such file",
    );
    rmSync(join(tmpdir(), "portico", path));
    const again = await turn(browser, "one", visit("/"), look);
    assert.match(String(again[1]), "cookies: mark=one", "a session keeps its sandbox");
    await browser.gateway.json("POST", "/agent", { message: "/new", session: "one", wait: true });
    await until("the sandbox to be gone", () => sandboxes(browser).length === 1);
    const anew = await turn(browser, "one", visit("/"), look);
    assert.match(String(anew[1]), "cookies: none", "and loses it with the conversation");
    assert.is((await browser.gateway.request("DELETE", "/sessions/two")).status, 200);
    await until("the sandbox to be gone with its session", () => sandboxes(browser).length === 1);
    const next = await turn(browser, "two", visit("/"), look);
    assert.match(String(next[1]), "cookies: none");
  } finally {
    await browser.stop();
  }
});

test("a sandbox sees public addresses only, and nothing of the host", async () => {
  const browser = await start({ mode: "all" });
  try {
    const [privately, host, profile, profiles, node, redirected] = await turn(
      browser,
      "s",
      { action: "navigate", url: site.url },
      { action: "tabs", target: "host" },
      { action: "tabs", profile: "relay" },
      { action: "profiles" },
      { action: "tabs", target: "node" },
      { action: "navigate", url: browser.gateway.url.replace("127.0.0.1", "localhost") },
    );
    assert.match(String(privately), "public addresses only");
    assert.match(String(host), "agents.defaults.sandbox.browser.allowHostControl");
    assert.match(String(profile), "leave out `profile`");
    assert.match(String(profiles), "no profiles");
    assert.match(String(node), "No node is connected");
    assert.match(String(redirected), "belongs to the gateway");
  } finally {
    await browser.stop();
  }
});

test("a session of one turn deletes its sandbox, and an unsandboxed session can request one", async () => {
  const browser = await start({ mode: "off" });
  try {
    await browser.visit(`http://localhost:${site.port}/mark?as=host`);
    const own = await turn(browser, undefined, visit("/"), look);
    assert.match(
      String(own[1]),
      "cookies: mark=host",
      "without a sandbox it is the host's browser",
    );
    const apart = { target: "sandbox" };
    const message = JSON.stringify([
      { ...visit("/"), ...apart },
      { ...look, ...apart },
    ]);
    const agent = browser.gateway.gateway.use("agent");
    const ended = await agent.startTurn(
      { message, source: "once", principal: "owner" },
      { wait: true },
    );
    assert.match(String(JSON.parse(String(ended.result))[1]), "cookies: none");
    await until("the sandbox to be gone", () => sandboxes(browser).length === 0);
  } finally {
    await browser.stop();
  }
});

test("turns of a client key have their own browser, without the owner's tabs, cookies, profiles and files", async () => {
  const browser = await start(
    { mode: "off" },
    {},
    { gateway: { keys: { ...clientKey("ann"), ...clientKey("bob") } } },
  );
  const asKey = async (key: string, ...steps: object[]): Promise<string[]> =>
    (JSON.parse(await askAsKey(browser.gateway, key, JSON.stringify(steps), "s")) as string[]).map(
      removeFences,
    );
  const cookie = (value: string) => ({
    action: "cookieSet",
    input: { cookie: { name: "who", value, domain: "example.com", path: "/" } },
    ...common,
  });
  const blank = { action: "open", url: "about:blank", ...common };
  const cookies = { action: "cookies", ...common };
  try {
    await turn(browser, "main", visit("/mark?as=owner"), blank, cookie("owner"));
    const [, , own, tabs, status, ...refused] = await asKey(
      "ann",
      blank,
      cookie("ann"),
      cookies,
      { action: "tabs" },
      { action: "status" },
      { action: "tabs", target: "host" },
      { action: "cookies", target: "node", node: "any" },
      { action: "tabs", profile: "relay" },
      { action: "profiles" },
      visit("/"),
      { action: "navigate", url: browser.gateway.url },
    );
    assert.match(String(own), "ann");
    assert.not.match(String(own), /owner|mark/);
    assert.is(JSON.parse(String(tabs)).tabs.length, 1, "its own tab only");
    assert.match(String(status), "sandbox");
    const reasons = [
      "Only the owner",
      "Only the owner",
      "leave out `profile`",
      "no profiles",
      // the settings exempt localhost for the owner
      "public addresses only",
      "belongs to the gateway",
    ];
    for (const [index, reason] of reasons.entries()) assert.match(String(refused[index]), reason);
    const [, bobs] = await asKey("bob", blank, cookies);
    assert.not.match(String(bobs), /ann|owner/);
    const [again] = await asKey("ann", cookies);
    assert.match(String(again), "ann", "its session keeps it");
    const uploads = join(tmpdir(), "portico", "uploads");
    mkdirSync(uploads, { recursive: true });
    const secret = `secret-${process.pid}.txt`;
    writeFileSync(join(uploads, secret), "the owner's");
    const [chosen] = await asKey("ann", { action: "fileChooser", paths: [secret] });
    rmSync(join(uploads, secret));
    assert.match(String(chosen), /^Error: /);
  } finally {
    await browser.stop();
  }
});

test("with browser.cdpUrl each session has its own context there", async () => {
  const elsewhere = await sharedBrowser();
  const { cdpPort } = (await elsewhere.post("/start")).body.ok
    ? (await elsewhere.get("/")).body
    : { cdpPort: 0 };
  const browser = await start({
    mode: "all",
    browser: { cdpUrl: `http://any:${elsewhere.gateway.token}@127.0.0.1:${cdpPort}` },
  });
  try {
    await elsewhere.visit(`http://localhost:${site.port}/mark?as=elsewhere`);
    const [one, two] = await Promise.all([
      turn(browser, "one", visit("/mark?as=one"), visit("/"), look, {
        action: "navigate",
        url: site.url,
      }),
      turn(browser, "two", visit("/"), look, { action: "tabs" }),
    ]);
    assert.match(String(one[2]), "cookies: mark=one");
    assert.match(String(one[3]), "public addresses only");
    assert.match(String(two[1]), "cookies: none");
    assert.is(JSON.parse(String(two[2])).tabs.length, 1, "it sees its own tab only");
    await browser.stop();
    // The other gateway hears of tabs that close a moment later.
    const left = async (): Promise<number> => (await elsewhere.get("/tabs")).body.tabs.length;
    await untilRight(left, (tabs) => tabs === 1);
    assert.is((await elsewhere.get("/")).body.running, true, "the browser and its own tab stayed");
  } finally {
    await browser.stop();
    await elsewhere.stop();
  }
});

test.run();
