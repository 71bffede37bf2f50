/** Cron through a whole gateway: routes, the agent's tool, hooks, a changing configuration. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { openStore } from "../../../plugins/store/open.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { until } from "../../support/until.ts";
import { temporaryDir } from "../../support/temporary.ts";

let gateway: InProcessGateway;
const HOOK = `---
name: report
events: [report:daily, cron:fired]
---
`;
const HANDLER = `import { appendFileSync } from "node:fs";
export default (event, ctx) => appendFileSync(ctx.config.file, JSON.stringify([event.name, event.context]) + "\\n");`;
const PROBE = `import { definePlugin } from "portico";
export default definePlugin({ name: "probe", setup(ctx) {
  ctx.route("POST", "/probe/:tool", { access: "gateway" }, async (call) => {
    const tool = ctx.list("tool").find(({ name }) => name === call.params.tool);
    return tool.handler(await call.json(), { signal: call.signal, log: ctx.log, sessionKey: "main", principal: "owner" });
  });
} });`;
const eventsFile = join(temporaryDir("portico-heard-"), "heard");
const settings = (text: string) => ({
  agents: { defaults: { model: "echo" } },
  hooks: { entries: { report: { file: eventsFile } } },
  ...configured(text),
});
const configured = (text: string) => ({
  cron: { jobs: { conf: { schedule: "@daily", payload: { kind: "systemEvent", text } } } },
});

const test = suite("cron in a gateway");
test.before(async () => {
  gateway = await startGateway({
    config: settings("one"),
    files: {
      "hooks/report/HOOK.md": HOOK,
      "hooks/report/handler.mjs": HANDLER,
      "plugins/probe/plugin.ts": PROBE,
    },
  });
});
test.after(() => gateway.stop());

const call = async (
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: any }> => {
  const response = await gateway.request(method, path, body);
  return { status: response.status, body: await response.json() };
};

test("an interval starts turns, and the history lists them", async () => {
  const job = await gateway.json("POST", "/cron/jobs", {
    name: "ticks",
    schedule: { kind: "every", everyMs: 300 },
    payload: { kind: "agentTurn", message: "say tick", session: "ticks" },
  });
  assert.match(job.id, /^job_/);
  assert.is(job.nextDates.length, 5);
  await until("two runs", async () => {
    const { runs } = await gateway.json("GET", "/cron/jobs/ticks/runs");
    return (
      runs.filter(
        (run: { status: string; result: string }) =>
          run.status === "ok" && run.result.includes("say tick"),
      ).length >= 2
    );
  });
  const disabled = await gateway.json("POST", `/cron/jobs/${job.id}/disable`);
  assert.is(disabled.status, "disabled");
  const session = await gateway.json("GET", "/sessions/ticks");
  assert.ok(session.messages.length >= 4);
  const slots = (await gateway.json("GET", "/cron/jobs/ticks/runs?limit=1000")).runs.map(
    (run: { scheduledAt: string }) => run.scheduledAt,
  );
  assert.is(new Set(slots).size, slots.length, "no slot twice");
});

test("one-shot jobs fire at their time and stay, disabled", async () => {
  const { at } = (
    await gateway.json("POST", "/cron/jobs", {
      name: "once",
      schedule: "in 300ms",
      payload: { kind: "systemEvent", text: "x" },
    })
  ).schedule;
  const job = await until("the run", async () => {
    const currentJob = await gateway.json("GET", "/cron/jobs/once");
    return currentJob.status === "disabled" ? currentJob : undefined;
  });
  assert.is(job.state.lastStatus, "ok");
  const { runs } = await gateway.json("GET", "/cron/jobs/once/runs");
  assert.is(runs.length, 1);
  assert.is(runs[0].scheduledAt, at);
  assert.match(runs[0].eventId, /^evt_/);
});

test("errors have the documented format", async () => {
  assert.is((await gateway.request("GET", "/cron/jobs", undefined, { token: null })).status, 401);
  const missing = await call("GET", "/cron/jobs/none");
  assert.is(missing.status, 404);
  assert.is(missing.body.error.code, "not_found");
  const bad = await call("POST", "/cron/jobs", {
    schedule: { kind: "cron", expr: "0 0 31 2 *" },
    payload: { kind: "systemEvent", text: "x" },
  });
  assert.is(bad.status, 400);
  assert.is(bad.body.error.code, "invalid_request_error");
  assert.is(bad.body.error.param, "schedule.expr");
  assert.is((await call("PUT", "/cron/jobs/none")).status, 405);
  assert.is((await call("PATCH", "/cron/jobs/conf", { name: "x" })).status, 409);
  assert.is((await call("GET", "/cron/jobs/conf/runs?limit=x")).status, 400);
});

test("hooks receive an event for every run, and a hook payload reaches them directly", async () => {
  await gateway.json("POST", "/cron/jobs", {
    name: "daily",
    schedule: "@daily",
    payload: { kind: "hook", event: "report:daily", context: { pages: 3 } },
  });
  assert.ok(
    gateway.gateway.bus.spec("report:daily" as never),
    "the event is known before it is first emitted",
  );
  await gateway.json("POST", "/cron/jobs/daily/run");
  await until(
    "the run's end",
    async () => (await gateway.json("GET", "/cron/jobs/daily/runs")).runs[0].status === "ok",
  );
  const events = await until("both events", () => {
    const lines = readFileSync(eventsFile, "utf8")
      .trim()
      .split("\n")
      .map((line): [string, any] => JSON.parse(line));
    const mine = lines.filter(([, context]) => context.name === "daily");
    return mine.length >= 2 ? mine : undefined;
  });
  assert.equal(events.map(([name]) => name).sort(), ["cron:fired", "report:daily"]);
  assert.is(events.find(([name]) => name === "report:daily")![1].pages, 3);
});

test("jobs of the configuration follow its changes", async () => {
  const before = await gateway.json("GET", "/cron/jobs/conf");
  assert.is(before.source, "config");
  gateway.write(
    "portico.json",
    JSON.stringify({
      gateway: { port: 0, auth: { token: gateway.token } },
      ...settings("two"),
    }),
  );
  await until(
    "the change",
    async () => (await gateway.json("GET", "/cron/jobs/conf")).payload.text === "two",
  );
  const after = await gateway.json("GET", "/cron/jobs/conf");
  assert.is(after.state.nextRunAt, before.state.nextRunAt);
});

test("a changed jitter applies to the waiting slot, whether it is changed by the configuration or by the API", async () => {
  const at = "2199-01-01T00:00:00.000Z";
  const payload = { kind: "systemEvent", text: "x" };
  const schedule = { kind: "at", at };
  const configure = async (value: object): Promise<void> => {
    const edits = [{ path: ["cron", "jobs", "spread"], value }];
    const headers = { "if-match": "*" };
    const response = await gateway.request("PATCH", "/kernel/config", { edits }, { headers });
    assert.is(response.status, 200, await response.text());
  };
  await gateway.json("POST", "/cron/jobs", { name: "spread-by-api", schedule, payload });
  const changes: [string, (jitterMs: number | null) => Promise<unknown>][] = [
    [
      "spread",
      (jitterMs) => configure({ schedule, payload, ...(jitterMs === null ? {} : { jitterMs }) }),
    ],
    [
      "spread-by-api",
      (jitterMs) => gateway.json("PATCH", "/cron/jobs/spread-by-api", { jitterMs }),
    ],
  ];
  for (const [name, change] of changes) {
    await change(null);
    const show = () => gateway.json("GET", `/cron/jobs/${name}`);
    await until("the job", async () => (await gateway.request("GET", `/cron/jobs/${name}`)).ok);
    assert.is((await show()).state.nextRunAt, at, name);
    await change(3_600_000);
    await until("the jitter", async () => (await show()).jitterMs === 3_600_000);
    const delay = Date.parse((await show()).state.nextRunAt) - Date.parse(at);
    assert.ok(delay > 0 && delay < 3_600_000, `${name}: ${delay}`);
    await change(null);
    await until("no jitter", async () => (await show()).jitterMs === undefined);
    assert.is((await show()).state.nextRunAt, at, name);
  }
});

test("the agent's tool creates and lists jobs, and an edit of a job or poll keeps the members that it omits", async () => {
  const tool =
    gateway.gateway.plugins &&
    (await callTool("cron", { action: "add", name: "tea", schedule: "in 20m", text: "tea" }));
  assert.is(tool.status, "enabled");
  assert.is(tool.source, "agent");
  assert.ok(
    (await callTool("cron", { action: "list" })).jobs.some(
      (job: { name: string }) => job.name === "tea",
    ),
  );
  assert.is((await callTool("cron", { action: "rm", id: "tea" })).ok, true);

  const payload = { kind: "agentTurn", message: "report", session: "reports", model: "echo" };
  const schedule = { kind: "cron", expr: "0 8 * * *", tz: "Europe/Berlin" };
  await gateway.json("POST", "/cron/jobs", { name: "evening", schedule, payload });
  const edited = await callTool("cron", {
    action: "edit",
    id: "evening",
    schedule: "0 9 * * *",
    message: "new",
  });
  assert.equal(edited.schedule, { ...schedule, expr: "0 9 * * *" });
  assert.equal(edited.payload, { ...payload, message: "new" });
  assert.is((await callTool("cron", { action: "rm", id: "evening" })).ok, true);

  const source = { kind: "http", url: "http://127.0.0.1:9/" };
  await gateway.json("POST", "/polls", {
    name: "page",
    every: "1h",
    source,
    payload,
    status: "disabled",
  });
  const poll = await callTool("polls", { action: "edit", id: "page", message: "new" });
  assert.equal(poll.payload, { ...payload, message: "new" });
  assert.is((await callTool("polls", { action: "rm", id: "page" })).ok, true);
});

test("the agent's tool: a zone counts for a local date too; a source is changed in part, its secrets stay at its address", async () => {
  const payload = { kind: "agentTurn", message: "read it" };
  const date = { schedule: "2031-01-31T09:00", tz: "Europe/Berlin", text: "tea" };
  const tea = await callTool("cron", { action: "add", name: "tea", ...date });
  assert.is(tea.schedule.at, "2031-01-31T08:00:00.000Z");
  await callTool("cron", { action: "edit", id: "tea", schedule: "0 9 * * *", tz: "Asia/Tokyo" });
  const moved = await callTool("cron", { action: "edit", id: "tea", tz: "Europe/Berlin" });
  assert.equal(moved.schedule, { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" });
  assert.is((await callTool("cron", { action: "rm", id: "tea" })).ok, true);

  const headers = { authorization: "Bearer s3cret-s3cret", "x-team": "red" };
  const source = { kind: "html", url: "https://example.com/a", selector: "main", headers };
  const { id } = await gateway.json("POST", "/polls", {
    name: "page",
    every: "1h",
    source,
    payload,
    status: "disabled",
  });
  const slower = await callTool("polls", { action: "edit", id, every: "2h" });
  assert.equal([slower.every, slower.payload], ["2h", payload], "what is to be done stays");
  const edit = async (change: object) =>
    (await callTool("polls", { action: "edit", id, ...change })).source;
  const masked = { ...headers, authorization: "********" };
  assert.equal(await edit({ selector: "article" }), {
    ...source,
    headers: masked,
    selector: "article",
  });
  assert.equal(await edit({ url: "https://example.com/b" }), {
    kind: "html",
    url: "https://example.com/b",
  });
  assert.equal(await edit({ kind: "http" }), { kind: "http", url: "https://example.com/b" });
  assert.is((await callTool("polls", { action: "rm", id })).ok, true);
});

/** Calls one of the agent's tools, as a turn does. */
const callTool = (name: string, args: object): Promise<any> =>
  gateway.json("POST", `/probe/${name}`, args);

test("a time zone that does not exist is refused where the configuration is read", async () => {
  const heartbeat = { activeHours: { start: "08:00", end: "22:00", tz: "Mars/Phobos" } };
  const settings: [string, Record<string, unknown>][] = [
    ["cron.timezone", { cron: { timezone: "Mars/Phobos" } }],
    ["agents.defaults.heartbeat.activeHours.tz", { agents: { defaults: { heartbeat } } }],
  ];
  for (const [key, config] of settings) {
    let problem = "";
    try {
      await (await startGateway({ config })).stop();
    } catch (error) {
      problem = (error as Error).message;
    }
    assert.match(problem, `${key} is "Mars/Phobos", which is not a time zone`);
  }
});

test("where a result is posted: its secrets are masked, come back as what they were, and bad targets are refused", async () => {
  const delivery = {
    url: "https://hooks.example.com/in?token=s3cret",
    secret: `whsec_${Buffer.from("a secret of enough bytes").toString("base64")}`,
    headers: { "X-Api-Key": "a-k3y-of-the-target", "X-Kind": "report" },
  };
  const payload = { kind: "agentTurn", message: "say ********", delivery };
  const store = openStore({
    url: `file:${join(gateway.home, "state", "portico.db")}`,
    log: quietLog(),
  });
  const source = { kind: "http", url: "https://example.com/" };
  const spec = { schedule: "every 1d", every: "1d", status: "disabled", payload };
  for (const [root, definition] of [
    ["/cron/jobs", { ...spec, every: undefined }],
    ["/polls", { ...spec, schedule: undefined, source }],
  ] as const) {
    const created = await gateway.json("POST", root, definition);
    const responses = JSON.stringify([created, await gateway.json("GET", root)]);
    for (const secret of ["s3cret", delivery.secret, "a-k3y-of-the-target"])
      assert.not.match(responses, secret, root);
    assert.equal(created.payload.delivery.headers, { "X-Api-Key": "********", "X-Kind": "report" });
    await gateway.json("PATCH", `${root}/${created.id}`, {
      payload: { ...created.payload, message: "say more" },
    });
    const kind = root === "/polls" ? "poll" : "cron";
    const { body } = (await store.schedules.get(kind, created.id))!;
    const { message, delivery: stored } = (body as { payload: typeof payload }).payload;
    // The secrets that the masks stand for are kept encrypted: the suite of deliveries tells that they are the same.
    assert.equal([message, stored.url], ["say more", delivery.url], root);
    assert.not.match(JSON.stringify(stored), /a-k3y|whsec_|\*{8}/, root);
    for (const [url, status] of [
      ["http://169.254.169.254/", 403],
      ["https://hooks.example.com/?token=********", 400],
    ] as const) {
      const refused = await gateway.request("PATCH", `${root}/${created.id}`, {
        payload: { ...payload, delivery: { ...delivery, url } },
      });
      assert.is(refused.status, status, `${root} ${url}`);
    }
    await gateway.json("DELETE", `${root}/${created.id}`);
  }
  await store.close();
});

test.run();
