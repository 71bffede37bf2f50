/** Records of changes over HTTP, on the command line and in the file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const SECRET = "sk-very-secret-0123456789";
const test = suite("audit");
let gateway: InProcessGateway;
let clientKey: string;

interface Page {
  entries: { id: string }[];
  next?: string;
}

test.before(async () => {
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", apiKey: "sk-first-0123456789" } } },
  });
  const { key } = await gateway.json("POST", "/keys", { name: "ci" });
  clientKey = key;
});
test.after(() => gateway.stop());

async function newest(query = ""): Promise<any> {
  const { entries } = await gateway.json("GET", `/audit${query}`);
  return entries[0];
}

async function change(edits: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const options = { headers: { "if-match": "*", ...headers } };
  return gateway.request("PATCH", "/kernel/config", { edits }, options);
}

test("the trail records a change of the configuration with principal, address, and values before and after without secrets", async () => {
  const edits = [
    { path: ["channels", "main", "weight"], value: 3 },
    { path: ["channels", "main", "apiKey"], value: SECRET },
  ];
  const response = await change(edits, { "sec-fetch-site": "same-origin" });
  assert.is(response.status, 200);
  const entry = await newest();
  assert.is(entry.principal, "owner");
  assert.is(entry.via, "console");
  assert.is(entry.address, "127.0.0.1");
  assert.is(entry.action, "PATCH /kernel/config");
  assert.is(entry.outcome, "made");
  assert.is(entry.requestId, response.headers.get("x-request-id"));
  assert.equal(
    entry.changes.find(({ key }: any) => key.endsWith("weight")),
    { key: "channels.main.weight", after: 3 },
  );
  assert.ok(entry.changes.some(({ key }: any) => key === "channels.main.apiKey"));
  assert.not.match(JSON.stringify(await gateway.json("GET", "/audit")), SECRET);
});

test("the audit trail holds each change of a cron job: created, edited, disabled, deleted", async () => {
  const schedule = { kind: "cron", expr: "0 8 * * *", tz: "UTC" };
  const payload = { kind: "systemEvent", text: "good morning" };
  const job = await gateway.json("POST", "/cron/jobs", {
    name: "Morning",
    schedule,
    payload,
  });
  const made = await newest();
  assert.is(made.action, "POST /cron/jobs");
  assert.is(made.entry, job.id);
  assert.is(made.request.payload.text, "good morning");

  await gateway.json("PATCH", `/cron/jobs/${job.id}`, { name: "Dawn" });
  const edited = await newest();
  assert.is(edited.action, "PATCH /cron/jobs/:id");
  assert.equal(
    edited.changes.find(({ key }: any) => key === "name"),
    { key: "name", before: "Morning", after: "Dawn" },
  );

  await gateway.json("POST", `/cron/jobs/${job.id}/disable`);
  const switched = await newest();
  assert.is(switched.entry, job.id);
  assert.equal(
    switched.changes.find(({ key }: any) => key === "status"),
    { key: "status", before: "enabled", after: "disabled" },
  );

  await gateway.json("DELETE", `/cron/jobs/${job.id}`);
  const deleted = await newest();
  assert.is(deleted.action, "DELETE /cron/jobs/:id");
  assert.ok(deleted.changes.some(({ key, before }: any) => key === "name" && before === "Dawn"));
});

test("the secret of a new key is nowhere in the trail", async () => {
  const created = await gateway.json("POST", "/keys", { name: "fresh" });
  const text = JSON.stringify(await gateway.json("GET", "/audit"));
  assert.ok(created.key.length > 10);
  assert.not.match(text, created.key);
  assert.is((await newest("?action=keys")).action, "POST /keys");
});

test("secrets in bodies are masked, including headers of any name", async () => {
  const headers = { "x-key": SECRET, accept: "text/html" };
  const poll = {
    name: "news",
    every: "1h",
    source: { kind: "http", url: `http://127.0.0.1:9/feed?token=${SECRET}`, headers },
    payload: { kind: "systemEvent", text: "News" },
  };
  const { id } = await gateway.json("POST", "/polls", poll);
  const made = await newest("?action=post /polls");
  assert.is(made.request.source.headers.accept, "text/html");
  await gateway.json("PATCH", `/polls/${id}`, {
    source: { ...poll.source, headers: { "x-key": `${SECRET}-2` } },
  });
  await gateway.json("DELETE", `/polls/${id}`);
  assert.not.match(JSON.stringify(await gateway.json("GET", "/audit")), SECRET);
});

test("the trail records refused attempts: a wrong token, a client key, another site's page, a bad value", async () => {
  const wrong = await gateway.request("DELETE", "/keys/fresh", undefined, { token: "wrong" });
  assert.is(wrong.status, 401);
  const stranger = await newest("?principal=outside");
  assert.is(stranger.action, "DELETE /keys/:name");
  assert.is(stranger.error.code, "unauthorized");
  assert.is(stranger.outcome, "refused");

  const key = { token: clientKey };
  await gateway.request("DELETE", "/keys/fresh", undefined, key);
  await gateway.request("DELETE", "/keys/fresh", undefined, key);
  const ofKey = await newest("?principal=key:ci");
  assert.is(ofKey.status, 403);
  assert.is(ofKey.count, 2);

  const headers = { origin: "https://evil.example" };
  await gateway.request("DELETE", "/keys/fresh", undefined, { headers });
  const { entries } = await gateway.json("GET", "/audit?principal=outside");
  assert.ok(entries.some(({ error }: any) => error.code === "forbidden_origin"));

  const bad = await change([{ path: ["channels", "main", "apiKey"], value: { nested: SECRET } }]);
  assert.is(bad.status, 400);
  const refused = await newest("?outcome=refused&principal=owner");
  assert.is(refused.action, "PATCH /kernel/config");
  assert.not.match(JSON.stringify(refused), SECRET);
});

test("read-only requests are not recorded: lists, checks, trial runs, dry runs", async () => {
  const before = await newest();
  await gateway.json("GET", "/kernel/config");
  await gateway.json("POST", "/kernel/config/refresh");
  await gateway.json("POST", "/store/check");
  const headers = { "if-match": "*" };
  const edits = [{ path: ["log", "level"], value: "debug" }];
  await gateway.request("PATCH", "/kernel/config?dryRun=true", { edits }, { headers });
  assert.is((await newest()).id, before.id);
});

test("the trail records a change of the configuration file by an editor", async () => {
  const file = join(gateway.home, "portico.json");
  const text = readFileSync(file, "utf8");
  gateway.write("portico.json", text.replace("{", '{ "log": { "level": "warn" }, '));
  const entry = await until<any>("the change", () => newest("?via=file"));
  assert.is(entry.action, "configuration file");
  assert.equal(entry.changes, [{ key: "log.level", after: "warn" }]);
});

test("pages follow each other without a gap, and invalid filters are refused", async () => {
  const whole = (await gateway.json("GET", "/audit?limit=1000")).entries.map(({ id }: any) => id);
  const paged: string[] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const before: string = next === "" ? "" : `&before=${next}`;
    const page = await gateway.json<Page>("GET", `/audit?limit=3${before}`);
    paged.push(...page.entries.map(({ id }) => id));
    next = page.next;
  }
  assert.equal(paged, whole);
  for (const query of ["outcome=lost", "via=mail", "before=x", "since=never", "limit=0"]) {
    const response = await gateway.request("GET", `/audit?${query}`);
    assert.is(response.status, 400, query);
    const body: any = await response.json();
    assert.is(body.error.param, query.split("=")[0]);
  }
  assert.is((await gateway.request("GET", "/audit", undefined, { token: clientKey })).status, 403);
});

test("the command line lists changes and shows one", async () => {
  const at = ["--url", gateway.url, "--token", gateway.token];
  const listed = await porticoHere(gateway.home, ["audit", "--action", "/cron", ...at]);
  assert.is(listed.code, 0);
  assert.match(listed.stdout, "DELETE /cron/jobs/:id");
  const id = (await newest("?action=PATCH /cron")).id;
  const output = await porticoHere(gateway.home, ["audit", "show", id, ...at]);
  assert.match(output.stdout, "name: Morning → Dawn");
  assert.is((await porticoHere(gateway.home, ["audit", "show", "aud_none", ...at])).code, 1);
});

test("the trail survives a restart, and includes changes of portico config while no gateway ran", async () => {
  const home = makeHome();
  const first = await startGateway({ home, config: {} });
  await first.json("POST", "/keys", { name: "kept" });
  await first.stop();
  const set = await porticoHere(home, ["config", "set", "log.level", "debug"]);
  assert.is(set.code, 0);
  const second = await startGateway({ home });
  try {
    const { entries } = await second.json<{ entries: any[] }>("GET", "/audit");
    const actions = entries.map(({ action, via }: any) => `${via}: ${action}`);
    assert.ok(actions.includes("http: POST /keys"));
    assert.ok(actions.includes("command line: configuration file"));
    assert.is(entries.filter(({ action }: any) => action === "POST /keys").length, 1);
  } finally {
    await second.stop();
  }
});

test("a request with a dry-run query is recorded if its route has no dry run", async () => {
  await gateway.json("POST", "/keys", { name: "hidden" });
  await gateway.json("DELETE", "/keys/hidden?dryRun=true");
  assert.equal([(await newest()).action, (await newest()).entry], ["DELETE /keys/:name", "hidden"]);
  const tried = await change([{ path: ["channels", "main", "weight"], value: 9 }], {});
  assert.is(tried.status, 200);
  const { id } = await newest();
  const dry = await gateway.request(
    "POST",
    "/kernel/config?dryRun=true",
    { key: "channels.main.weight", value: 8 },
    { headers: { "if-match": "*" } },
  );
  assert.is(dry.status, 200);
  assert.is((await newest()).id, id, "a dry run changes nothing, and is not kept");
});

test.run();
