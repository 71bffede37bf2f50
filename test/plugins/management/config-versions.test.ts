/** Writes of the configuration over HTTP carry its version, and replaced versions are stored. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("versions of the configuration");
const SECRET = "sk-secret-of-main-1";
let gateway: InProcessGateway;

test.before.each(async () => {
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "echo", apiKey: SECRET },
        spare: { provider: "echo", models: ["spare-1"] },
      },
    },
  });
});
test.after.each(() => gateway.stop());

const file = () => join(gateway.home, "portico.json");
const stored = () => JSON.parse(readFileSync(file(), "utf8"));
const tag = async () =>
  (await gateway.request("GET", "/kernel/config")).headers.get("etag") as string;

async function send(method: string, path: string, body: unknown, ifMatch?: string) {
  const headers: Record<string, string> = ifMatch === undefined ? {} : { "if-match": ifMatch };
  const response = await gateway.request(method, path, body, { headers });
  const responseBody = (await response.json()) as any;
  return { status: response.status, headers: response.headers, body: responseBody };
}
const set = (key: string, value: unknown, ifMatch?: string) =>
  send("POST", "/kernel/config", { key, value }, ifMatch);
const history = async () =>
  (await gateway.json("GET", "/kernel/config/history")).versions as {
    id: number;
    via: string;
    principal: string;
    address?: string;
    at: string;
    keys: string[];
  }[];

test("a write without a version is 428, and writes nothing", async () => {
  const before = readFileSync(file(), "utf8");
  const writes = [
    ["POST", "/kernel/config", { key: "log.level", value: "debug" }],
    ["PATCH", "/kernel/config", { path: ["log"], members: { level: "debug" } }],
    ["PATCH", "/kernel/config", { edits: [{ path: ["log", "level"], value: "debug" }] }],
    ["POST", "/kernel/config/undo", {}],
  ] as const;
  for (const [method, path, body] of writes) {
    const { status, body: responseBody } = await send(method, path, body);
    assert.is(status, 428, `${method} ${path}`);
    assert.is(responseBody.error.code, "precondition_required");
  }
  assert.is((await set("log.level", "debug", "no-quotes")).status, 400);
  assert.is(readFileSync(file(), "utf8"), before);
});

test("if two clients write with the same version, the second receives 412 and the difference", async () => {
  const read = await tag();
  const first = await set("channels.main.weight", 3, read);
  assert.is(first.status, 200);
  assert.equal(first.body.changes, [{ key: "channels.main.weight", kind: "added", after: 3 }]);
  const second = await set("channels.main.priority", 1, read);
  assert.is(second.status, 412);
  assert.is(second.body.error.code, "precondition_failed");
  assert.equal(second.body.error.changes, first.body.changes);
  assert.equal(stored().channels.main, { provider: "echo", apiKey: SECRET, weight: 3 });
  const again = await set("channels.main.priority", 1, first.headers.get("etag") as string);
  assert.is(again.status, 200);
  assert.is(stored().channels.main.weight, 3);
  assert.is((await set("channels.main.weight", 4, `W/${await tag()}`)).status, 200, "weak");
  assert.is((await set("channels.main.weight", 5, `"x", ${await tag()}`)).status, 200, "a list");
  assert.is((await set("channels.main.weight", 6, "*")).status, 200, "any");
});

test("exactly one of many simultaneous writes with the same version succeeds", async () => {
  const read = await tag();
  const writes = Array.from({ length: 8 }, (_, at) => set("channels.main.weight", at + 1, read));
  const statuses = (await Promise.all(writes)).map(({ status }) => status);
  assert.is(statuses.filter((status) => status === 200).length, 1, statuses.join());
  assert.is(statuses.filter((status) => status === 412).length, 7, statuses.join());
});

test("a write of a whole map, or of the section around it, removes no entry", async () => {
  const before = readFileSync(file(), "utf8");
  const main = { provider: "echo" };
  const attempts = [
    ["POST", { key: "channels", value: { main } }],
    ["POST", { key: "channels", value: {} }],
    ["POST", { key: "channels" }],
    ["PATCH", { edits: [{ path: ["channels"], value: { main } }] }],
    ["PATCH", { edits: [{ path: ["channels"], remove: true }] }],
  ] as const;
  for (const [method, body] of attempts) {
    const { status } = await send(method, "/kernel/config", body, await tag());
    assert.is(status, 400, JSON.stringify(body));
  }
  assert.is(readFileSync(file(), "utf8"), before);
  const added = await set("channels", { ...stored().channels, third: main }, await tag());
  assert.is(added.status, 200);
  const removed = await send("POST", "/kernel/config", { key: "channels.spare" }, await tag());
  assert.is(removed.status, 200);
  assert.equal(Object.keys(stored().channels), ["main", "third"]);
});

test("a dry run shows what would change, with secrets masked, and writes nothing", async () => {
  const before = readFileSync(file(), "utf8");
  const read = await tag();
  const edits = [
    { path: ["channels", "main", "apiKey"], value: "sk-another" },
    { path: ["channels", "spare"], remove: true },
    { path: ["gateway", "port"], value: 18790 },
  ];
  const { status, body, headers } = await send(
    "PATCH",
    "/kernel/config?dryRun=true",
    { edits },
    read,
  );
  assert.is(status, 200);
  assert.equal(
    body.changes.map(({ key, kind }: { key: string; kind: string }) => [key, kind]),
    [
      ["channels.main.apiKey", "changed"],
      ["channels.spare", "removed"],
      ["gateway.port", "changed"],
    ],
  );
  assert.equal(body.atNextStart, ["gateway.port"]);
  assert.not.match(JSON.stringify(body), /sk-/);
  assert.is(headers.get("etag"), read);
  assert.is(readFileSync(file(), "utf8"), before);
});

test("versions record who wrote them, when and from where, and an undo restores each", async () => {
  const original = readFileSync(file(), "utf8");
  await set("channels.main.weight", 2, await tag());
  const page = { "sec-fetch-site": "same-origin", "if-match": await tag() };
  const change = { key: "log.level", value: "debug" };
  await gateway.request("POST", "/kernel/config", change, { headers: page });
  assert.is((await porticoHere(gateway.home, ["config", "set", "log.level", "warn"])).code, 0);
  gateway.write("portico.json", readFileSync(file(), "utf8").replace('"warn"', '"error"'));
  await until("the edited file", async () => (await history())[0]?.via === "file");
  const versions = await history();
  assert.equal(
    versions.slice(0, 4).map(({ via, principal, keys }) => [via, principal, keys.join()]),
    [
      ["file", "owner", "log.level"],
      ["command line", "owner", "log.level"],
      ["console", "owner", "log.level"],
      ["http", "owner", "channels.main.weight"],
    ],
  );
  assert.is(versions[2]?.address, "127.0.0.1");
  assert.ok(versions.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 600_000));
  assert.not.match(JSON.stringify(versions), SECRET);
  const historyFile = join(gateway.home, "state", "config-history.json");
  assert.is(statSync(historyFile).mode & 0o777, 0o600);
  for (const level of ["warn", "debug", undefined]) {
    assert.is((await send("POST", "/kernel/config/undo", {}, await tag())).status, 200);
    assert.is(stored().log?.level, level);
  }
  const first = (await history()).find(({ via }) => via === "gateway");
  const back = await send("POST", "/kernel/config/undo", { to: first?.id }, await tag());
  assert.is(back.status, 200);
  assert.is(readFileSync(file(), "utf8"), original);
  const missing = await send("POST", "/kernel/config/undo", { to: 999 }, await tag());
  assert.is(missing.status, 404);
});

test("the last 20 versions are kept", async () => {
  for (let weight = 1; weight <= 23; weight++)
    assert.is((await set("channels.main.weight", weight, await tag())).status, 200);
  const versions = await history();
  assert.is(versions.length, 20);
  const [newest, oldest] = [versions[0], versions.at(-1)];
  const { changes } = await gateway.json(
    "GET",
    `/kernel/config/diff?from=${oldest?.id}&to=${newest?.id}`,
  );
  assert.equal(changes, [{ key: "channels.main.weight", kind: "changed", before: 4, after: 23 }]);
});

test("changes of keys, hooks and plugins create versions too", async () => {
  await gateway.json("POST", "/keys", { name: "alice", models: ["main/*"] });
  await gateway.json("POST", "/kernel/plugins/metrics/disable");
  const [disabled, made] = await history();
  assert.equal([disabled?.via, disabled?.keys], ["http", ["plugins.entries.metrics"]]);
  assert.equal([made?.via, made?.keys], ["http", ["gateway.keys.alice"]]);
  assert.is(disabled?.address, "127.0.0.1");
});

test("responses and status name the changes that wait for a restart until they are undone", async () => {
  const changed = await set("gateway.port", 18791, await tag());
  assert.equal(changed.body.atNextStart, ["gateway.port"]);
  const config = await gateway.json("GET", "/kernel/config");
  assert.equal(config.awaitingStart, ["gateway.port"]);
  const { notices } = await gateway.json("GET", "/kernel/status");
  assert.ok(notices.some(({ text }: { text: string }) => text.includes("gateway.port")));
  await send("POST", "/kernel/config/undo", {}, await tag());
  assert.equal((await gateway.json("GET", "/kernel/config")).awaitingStart, []);
});

test("the command line shows history and differences, and undoes, with and without a gateway", async () => {
  const portico = (...words: string[]) => porticoHere(gateway.home, ["config", ...words]);
  const remote = ["--url", gateway.url, "--token", gateway.token];
  assert.is((await portico("set", "channels.main.weight", "2", ...remote)).code, 0);
  assert.is(stored().channels.main.weight, 2);
  assert.is((await history())[0]?.via, "command line");
  const dry = await portico("set", "channels.main.weight", "3", "--dry-run", "--json");
  assert.equal(JSON.parse(dry.stdout).changes, [
    { key: "channels.main.weight", kind: "changed", before: 2, after: 3 },
  ]);
  assert.is(stored().channels.main.weight, 2);
  const refused = await portico("set", "channels", "{main: {provider: 'echo'}}");
  assert.is(refused.code, 1);
  assert.match(refused.stderr, "channels.spare");
  const diff = await portico("diff", "--json", ...remote);
  assert.equal(JSON.parse(diff.stdout).changes, [
    { key: "channels.main.weight", kind: "added", after: 2 },
  ]);
  assert.is((await portico("undo", ...remote)).code, 0);
  assert.is(stored().channels.main.weight, undefined);
});

test("history, diff and undo need no gateway", async () => {
  const home = makeHome();
  const path = join(home, "portico.json");
  const portico = (...words: string[]) => porticoHere(home, ["config", ...words]);
  writeFileSync(path, '{ channels: { spare: { provider: "echo", models: ["spare-1"] } } } // mine');
  const level = JSON.parse((await portico("set", "log.level", "info", "--json")).stdout);
  assert.equal(level.atNextStart, [], "a section that comes with it waits for nothing");
  const port = JSON.parse((await portico("set", "gateway.port", "1234", "--json")).stdout);
  assert.equal(port.atNextStart, ["gateway.port"]);
  assert.is((await portico("set", "channels.main.provider", "echo")).code, 0);
  assert.is((await portico("set", "channels.main.apiKey", "sk-other-secret")).code, 0);
  writeFileSync(path, readFileSync(path, "utf8").replace("spare-1", "spare-2"));
  const listed = await portico("history");
  assert.match(listed.stdout, /owner +file +channels\.spare\.models/);
  const masked = await portico("diff", "1");
  assert.is(masked.code, 0);
  assert.not.match(masked.stdout + listed.stdout, /sk-/);
  assert.is((await portico("undo")).code, 0);
  assert.match(readFileSync(path, "utf8"), /"spare-1".*\/\/ mine/s);
  assert.is((await portico("undo", "1")).code, 0);
  assert.not.match(readFileSync(path, "utf8"), "main");
  assert.is((await portico("undo", "zero")).code, 1);
});

test.run();
