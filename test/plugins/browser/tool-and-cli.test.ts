import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, CommandIO } from "portico/command-line";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import command from "../../../plugins/browser/cli.ts";
import { ROUTES } from "../../../plugins/browser/declarations/routes.ts";
import { Parameters, requestOf } from "../../../plugins/browser/tool.ts";
import { KINDS } from "../../../plugins/browser/actions/kinds.ts";
import { portico, porticoHere } from "../../support/portico.ts";
import { type SharedBrowser, sharedBrowser, type Site, startSite } from "./support.ts";

const test = suite("browser: the tool and the command line");
let browser: SharedBrowser;
let site: Site;
const upload = join(tmpdir(), "portico", "uploads", `cli-${process.pid}.txt`);

test.before(async () => {
  site = await startSite({
    "/": `<title>Shop</title><h1>Shop</h1><label>Name <input></label><button onclick="document.title='Hello '+document.querySelector('input').value">Greet</button><a href="/file">Get</a><input type="file" aria-label="File">`,
    "/file": (_req, res) =>
      res.writeHead(200, { "content-disposition": "attachment; filename=cli.txt" }).end("content"),
  });
  mkdirSync(join(tmpdir(), "portico", "uploads"), { recursive: true });
  writeFileSync(upload, "x");
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
  rmSync(upload);
});

/** Every command that does something, with the words that lead to it. */
function* leaves(from: Command, path: string[] = []): Generator<[string[], Command]> {
  if (from.run !== undefined) yield [path, from];
  for (const sub of from.commands ?? []) yield* leaves(sub, [...path, sub.name]);
}

interface Sent {
  method: string;
  path: string;
  body: Record<string, unknown> | undefined;
}

/** The request that a command sends to the gateway. */
async function requestFor(
  path: string[],
  args: CommandIO["args"],
  options: CommandIO["options"],
): Promise<Sent> {
  const [, leaf] = [...leaves(command)].find(([words]) => words.join(" ") === path.join(" "))!;
  let sent: Sent | undefined;
  const request = async (
    method: string,
    url: string,
    body?: Record<string, unknown>,
  ): Promise<never> => {
    sent = { method, path: url, body };
    return {} as never;
  };
  await leaf!.run!({
    args,
    options,
    json: true,
    show() {},
    print() {},
    table: () => [],
    progress() {},
    gateway: { request },
  } as never);
  return sent!;
}

test("each route and each kind of action has a command", async () => {
  const values = {
    ref: "1",
    text: "t",
    from: "1",
    to: "2",
    key: "a",
    width: "1",
    height: "1",
    name: "n",
    tab: "t",
    address: "a",
    value: "v",
    state: "on",
    scheme: "dark",
    zone: "UTC",
    locale: "de",
    latitude: "1",
    longitude: "2",
    user: "u",
    password: "p",
    rest: ["x"],
  } as unknown as CommandIO["args"];
  const routes = new Set<string>();
  const kinds = new Set<unknown>();
  for (const [path] of leaves(command)) {
    // These are about the relay's extension, not about a browser.
    if (path[0] === "extension") continue;
    const {
      method,
      path: url,
      body,
    } = await requestFor(path, values, {
      accept: true,
      fields: "[]",
      actions: "[]",
      "headers-json": "{}",
    });
    const route = ROUTES.find(
      (route) =>
        route.method === method &&
        new RegExp(`^${route.path.replace(/:[a-zA-Z]+/g, "[^/]+")}$`).test(url),
    );
    assert.ok(route, `${path.join(" ")} asks for ${method} ${url}`);
    routes.add(route.name);
    if (route.path === "/act") kinds.add(body?.["kind"]);
  }
  assert.equal(
    ROUTES.map(({ name }) => name).filter((name) => !routes.has(name)),
    [],
  );
  const otherwise = new Set(["upload", "close"]);
  assert.equal(
    Object.keys(KINDS).filter((kind) => !kinds.has(kind) && !otherwise.has(kind)),
    [],
  );
});

test("the seed's options reach the routes", async () => {
  const query = async (path: string[], args: CommandIO["args"], options: CommandIO["options"]) =>
    (await requestFor(path, args, options)).body;
  assert.equal(
    await query(["click"], { ref: "e12" }, { double: true, "browser-profile": "work" }),
    {
      profile: "work",
      kind: "click",
      ref: "e12",
      doubleClick: true,
    },
  );
  assert.equal(await query(["type"], { ref: "3", text: "x" }, { submit: true }), {
    kind: "type",
    ref: "3",
    text: "x",
    submit: true,
  });
  assert.equal(await query(["wait"], {}, { text: "a", url: "b", load: "networkidle", fn: "c" }), {
    kind: "wait",
    text: "a",
    url: "b",
    loadState: "networkidle",
    fn: "c",
  });
  assert.equal(await query(["screenshot"], {}, { "full-page": true, ref: "4" }), {
    fullPage: true,
    ref: "4",
  });
  assert.equal(await query(["evaluate"], {}, { fn: "1", ref: "4" }), {
    kind: "evaluate",
    fn: "1",
    ref: "4",
  });
  assert.equal(await query(["fill"], {}, { fields: '[{"ref":1,"value":"x"}]' }), {
    kind: "fill",
    fields: [{ ref: 1, value: "x" }],
  });
  assert.equal(await query(["dialog"], {}, { accept: true, "prompt-text": "p" }), {
    accept: true,
    promptText: "p",
  });
  assert.equal(await query(["set", "headers"], {}, { "headers-json": '{"a":"1"}' }), {
    headers: { a: "1" },
  });
  assert.equal(
    await query(
      ["set", "geolocation"],
      { latitude: "1.5", longitude: "-2" },
      { origin: "https://x.org" },
    ),
    {
      latitude: 1.5,
      longitude: -2,
      origin: "https://x.org",
    },
  );
  assert.equal(await query(["responsebody"], { address: "u" }, { "max-chars": 9 }), {
    url: "u",
    maxChars: 9,
  });
  await assert_rejects(requestFor(["fill"], {}, { fields: "{" }), "--fields is not JSON");
  await assert_rejects(requestFor(["dialog"], {}, {}), "--accept or --dismiss");
  await assert_rejects(
    requestFor(["resize"], { width: "wide", height: "2" }, {}),
    'width must be a number, not "wide".',
  );
  await assert_rejects(
    requestFor(["set", "geolocation"], { latitude: "1", longitude: "" }, {}),
    "longitude must be a number",
  );
});

async function assert_rejects(work: Promise<unknown>, words: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  assert.match(error?.message ?? "nothing was thrown", words);
}

const run = (...words: string[]) => porticoHere(browser.gateway.home, ["browser", ...words]);

test("a session on the command line", async () => {
  assert.match((await portico(browser.gateway.home, ["browser", "open", site.url])).stdout, "Shop");
  assert.match((await run("status")).stdout, "running    yes");
  assert.match((await run("status", "--browser-profile", "usual")).stdout, "running    no");
  const { stdout } = await run("snapshot");
  const ref = (name: string): string => new RegExp(`"${name}" \\[ref=(e\\d+)\\]`).exec(stdout)![1]!;
  assert.match(stdout, /textbox "Name" \[ref=e\d+\]/);
  assert.not.match(stdout, "heading");
  assert.is((await run("type", ref("Name"), "Ada Lovelace")).code, 0);
  const clicked = JSON.parse((await run("click", ref("Greet"), "--json")).stdout) as {
    ok: boolean;
  };
  assert.ok(clicked.ok);
  assert.is((await run("evaluate", "--fn", "document.title")).stdout.trim(), "Hello Ada Lovelace");
  assert.is((await run("wait", "--url", site.url)).code, 0);
  // Its own, whose line says where the gateway's goes.
  assert.is((await run("wait", "--help")).stdout.match(/^ +--url /gm)?.length, 1);
  const aria = JSON.parse((await run("snapshot", "--format", "aria", "--json")).stdout) as {
    format: string;
  };
  assert.is(aria.format, "aria", "what was asked for wins over browser.snapshotDefaults");
  const bad = await run("click", "e99999");
  assert.is(bad.code, 1);
  assert.match(bad.stderr, "new snapshot");
  assert.is(bad.stderr.trim().split("\n").length, 1);
});

test("the tool offers the operations of the routes, with refs, text and images", async () => {
  const use = (args: object): Promise<{ result: unknown; error?: { code: string } }> =>
    browser.gateway.json("POST", "/probe", args);
  const opened = (await use({ action: "open", url: site.url })).result as { targetId: string };
  const text = (await use({ action: "snapshot" })).result as string;
  assert.match(text, /^\{"targetId":"[0-9A-F]+"\}\nShop — http/);
  const ref = (name: string): string => new RegExp(`"${name}" \\[ref=(e\\d+)\\]`).exec(text)![1]!;
  assert.not.match(text, "heading", "snapshotDefaults.mode holds for the tool");
  await use({ action: "fill", fields: [{ ref: ref("Name"), value: "Grace" }] });
  const clicked = (await use({ action: "click", ref: ref("Greet"), snapshot: "efficient" }))
    .result as string;
  assert.match(clicked, /"ok":true[\s\S]*\[ref=e\d+\]/);
  assert.is(
    ((await use({ action: "evaluate", fn: "document.title" })).result as { result: string }).result,
    "Hello Grace",
  );
  const [picture] = (await use({ action: "screenshot" })).result as {
    type: string;
    image_url: { url: string };
  }[];
  assert.match(picture!.image_url.url, /^data:image\/png;base64,iVBOR/);
  assert.match(
    (await use({ action: "snapshot", diff: true, mode: "efficient" })).result as string,
    "nothing changed",
  );
  assert.is((await use({ action: "click", ref: "e99999" })).error?.code, "ref_not_found");
  assert.is((await use({ action: "tabs", target: "node" })).error?.code, "node_unavailable");
  assert.is((await use({ action: "close", targetId: opened.targetId })).error, undefined);
  const sessions = await browser.gateway.json<string[]>("GET", "/probe");
  assert.ok(sessions.includes(`${site.url}/`), "browser:navigated was emitted");
});

test("every route of the control API, and every kind of action, is a call of the tool", () => {
  const input = { kind: "local", name: "n", targetId: "t" };
  const actions = (Parameters.properties.action.anyOf as { const: string }[]).map(
    (option) => option.const,
  );
  const requests = actions.map((action) => requestOf({ action, input: input }, "main"));
  const routes = new Set(requests.map(({ method, route }) => `${method} ${route}`));
  assert.equal(
    ROUTES.map(({ name }) => name).filter((name) => !routes.has(name)),
    [],
  );
  assert.equal(
    Object.keys(KINDS).filter((kind) => !actions.includes(kind)),
    [],
  );
  const made = requestOf(
    { action: "profileCreate", input: { name: "x", args: ["--y"], cdpUrl: "http://z" } },
    "main",
  );
  assert.equal(JSON.parse(JSON.stringify(made.body)), { name: "x" }, "switches are the owner's");
});

test("calls of the tool become requests", () => {
  assert.equal(requestOf({ action: "snapshot", target: "host" }, "main"), {
    method: "GET",
    route: "/snapshot",
    query: { mode: "default" },
    caller: "main",
  });
  assert.equal(requestOf({ action: "open", url: "http://x" }, "main"), {
    method: "POST",
    route: "/tabs/open",
    body: { url: "http://x" },
    caller: "main",
  });
  assert.equal(requestOf({ action: "click", ref: 3, snapshot: "efficient" }, "main"), {
    method: "POST",
    route: "/act",
    body: { ref: 3, snapshot: "efficient", kind: "click" },
    caller: "main",
  });
});

test.run();
