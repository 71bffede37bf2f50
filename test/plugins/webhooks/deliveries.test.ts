/** The delivery log, replays and dry runs, over HTTP and the command line; who may call; what is on without settings. */
import { readFileSync } from "node:fs";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import { clientOf, type Receiver, startReceiver, TOKEN, withToken } from "./sender.ts";

const test = suite("deliveries");
let gateway: Receiver;
/** An upstream that refuses connections. */
const NOBODY = "http://127.0.0.1:9/v1";

test.before(async () => {
  const webhooks = {
    rateLimit: { maxRequests: 200, windowMs: 60_000 },
    mappings: {
      ci: {
        match: { "headers.x-ci": { exists: true } },
        message: "Build {body.build} of {query.team}",
        session: "ci:{body.build}",
      },
    },
  };
  const config = {
    channels: { gone: { provider: "openai", baseUrl: NOBODY, models: ["m"], maxRetries: 0 } },
    agents: { defaults: { model: "echo", maxAttempts: 1, heartbeat: { every: "0" } } },
  };
  gateway = await startReceiver(webhooks, { config });
});
test.after(() => gateway.stop());

interface Row {
  id: string;
  source: string;
  outcome: string;
  itemId?: string;
  status?: number;
  error?: { code: string };
}
const newest = async (filter = "") =>
  (await gateway.json<{ deliveries: Row[] }>("GET", `/webhooks/deliveries${filter}`)).deliveries;

test("every request is in the log with its outcome", async () => {
  const { body } = await gateway.send(
    "/hooks/agent",
    { message: "x" },
    withToken({ "idempotency-key": "one" }),
  );
  await gateway.send("/hooks/agent", { message: "x" }, withToken({ "idempotency-key": "one" }));
  await gateway.send("/hooks/wake", {});
  await gateway.send("/hooks/wake", { text: "x" }, {});
  await gateway.send("/hooks", { y: 1 });
  const rows = await newest();
  assert.equal(
    rows
      .slice(0, 5)
      .map(({ source, outcome, status, error }) => [
        source,
        outcome,
        status ?? 0,
        error?.code ?? "",
      ])
      .reverse(),
    [
      ["agent", "accepted", 200, ""],
      ["agent", "duplicate", 0, ""],
      ["wake", "refused", 400, "invalid_request_error"],
      ["wake", "unauthorized", 401, "unauthorized"],
      ["/", "refused", 404, "no_mapping"],
    ],
  );
  assert.is(rows[4]?.itemId, body.turnId);
  assert.is(rows[3]?.itemId, body.turnId);
  assert.equal(
    (await newest("?outcome=unauthorized")).map(({ source }) => source),
    ["wake"],
  );
});

test("secrets are masked in headers, query and body; a stranger's body is not kept", async () => {
  const body = { message: `my token is ${TOKEN}`, context: { password: "hunter2", team: "red" } };
  await gateway.send("/hooks/agent?api_key=qz7-key&team=red", body, {
    "x-service-token": TOKEN,
    cookie: "session=1",
  });
  const [row] = await newest();
  const detail = JSON.stringify(await gateway.json("GET", `/webhooks/deliveries/${row?.id}`));
  for (const secret of [TOKEN, "hunter2", "session=1", "qz7-key"])
    assert.not.ok(detail.includes(secret), secret);
  assert.match(detail, /red/);
  await gateway.send("/hooks/wake", { text: "stranger" }, { authorization: "Bearer guess" });
  const [refused] = await newest();
  assert.is((await gateway.json("GET", `/webhooks/deliveries/${refused?.id}`)).payload, null);
  assert.not.ok(JSON.stringify(gateway.lines).includes(TOKEN), "no token in the log");
});

test("a request has one row, however the turn ends that it waits for, and whether its sender waits so long", async () => {
  const rowsSince = async (source: Row[]) =>
    (await newest()).filter(({ id }) => !source.some((row) => row.id === id));
  const before = await newest();
  const failed = await gateway.send("/hooks/agent", {
    message: "x",
    model: "gone/m",
    wait: true,
  });
  assert.is(failed.status, 502);
  assert.equal(
    (await rowsSince(before)).map(({ outcome }) => outcome),
    ["accepted"],
  );
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const undo = gateway.gateway.bus.on("message:received", () => gate, {});
  const leaving = new AbortController();
  const left = fetch(`${gateway.url}/hooks/agent`, {
    method: "POST",
    headers: { "content-type": "application/json", ...withToken({}) },
    body: JSON.stringify({ message: "y", wait: true }),
    signal: leaving.signal,
  }).catch(() => "left");
  const now = await until("its row", async () => {
    const rows = await rowsSince(before);
    return rows.length === 2 ? rows : undefined;
  });
  leaving.abort();
  assert.is(await left, "left");
  release();
  assert.is((await gateway.ended(now[0]!.itemId!)).state, "done");
  undo();
  assert.equal(
    (await rowsSince(before)).map(({ outcome }) => outcome),
    ["accepted", "accepted"],
  );
});

test("a short secret is masked where it authenticates, and equal text elsewhere is not", async () => {
  const mapping = {
    match: { "headers.x-event": "push", "query.team": "us" },
    message: "{body.use} {query.team} of {headers.authorization}",
  };
  const config = {
    token: "us",
    keys: { longer: { token: "webhook-12" }, long: { token: "webhook-1" } },
  };
  const g = await startReceiver({ ...config, mappings: { ci: mapping } });
  const { body } = await g.send(
    "/hooks/ci?team=us",
    { use: "thus" },
    { authorization: "Bearer us", "x-event": "push" },
  );
  const turn = await until("the end", async () => {
    const turn = await g.json("GET", `/turns/${body.turnId}`);
    return turn.state === "done" ? turn : undefined;
  });
  assert.match(turn.result, /thus us of Bearer \*{8}/);
  const { deliveries } = await g.json("GET", "/webhooks/deliveries");
  const detail = await g.json("GET", `/webhooks/deliveries/${deliveries[0].id}`);
  assert.is(detail.payload, '{"use":"thus"}');
  assert.is(detail.headers.authorization, "********");
  await g.send("/hooks/agent", { message: "webhook-12" }, { authorization: "Bearer webhook-12" });
  const [{ id }] = (await g.json("GET", "/webhooks/deliveries")).deliveries;
  assert.is((await g.json("GET", `/webhooks/deliveries/${id}`)).payload, '{"message":"********"}');
  await g.stop();
});

test("a delivery can be replayed: it starts once more, under a row of its own", async () => {
  const first = await gateway.send(
    "/hooks/ci?team=red",
    { build: 7 },
    withToken({ "x-ci": "1", "idempotency-key": "build-7" }),
  );
  const [row] = await newest();
  const replayed = await gateway.json("POST", `/webhooks/deliveries/${row?.id}/replay`);
  assert.is.not(replayed.turnId, first.body.turnId);
  assert.is(replayed.sessionId, "webhook:ci:7");
  assert.match((await gateway.ended(replayed.turnId)).result, /Build 7 of red/);
  const [again] = await newest();
  assert.is((again as Row & { replayOf?: string }).replayOf, row?.id);
});

test("a refused request is replayed only if the log has its whole body", async () => {
  const send = async (body: unknown) => {
    await gateway.send("/hooks/agent", body);
    const [row] = await newest();
    assert.is(row?.outcome, "refused");
    return gateway.request("POST", `/webhooks/deliveries/${row?.id}/replay`);
  };
  // None of them has the required message.
  const short = await send({ context: "x" });
  assert.is(short.status, 400, "it is planned again");
  const long = await send({ context: "x".repeat(70_000) });
  const binary = await send(Buffer.from([0x7b, 0xff, 0x7d]));
  for (const response of [long, binary]) {
    assert.is(response.status, 409);
    assert.match(((await response.json()) as any).error.message, "not have the whole body");
  }
});

test("a dry run shows mapping, words and session, and starts nothing", async () => {
  const before = (await newest("?limit=1000")).length;
  const turns = (await gateway.json("GET", "/turns?limit=1000")).turns.length;
  const detail = await gateway.json("POST", "/webhooks/test", {
    headers: { "X-CI": "1" },
    body: { build: 8 },
  });
  assert.is(detail.source, "ci");
  assert.is(detail.action, "agent");
  assert.is(detail.session, "webhook:ci:8");
  assert.is(detail.text, "Build 8 of ");
  assert.equal(detail.missing, ["{query.team}"]);
  assert.is((await newest("?limit=1000")).length, before);
  assert.is((await gateway.json("GET", "/turns?limit=1000")).turns.length, turns);
  const none = await gateway.request("POST", "/webhooks/test", { body: {} });
  assert.is(none.status, 404);
  await none.text();
});

test("the log is for the owner only", async () => {
  for (const token of [null, TOKEN]) {
    const response = await gateway.request("GET", "/webhooks/deliveries", undefined, { token });
    assert.is(response.status, 401);
    await response.text();
  }
});

test("the command line lists, shows, replays and tests", async () => {
  await gateway.send("/hooks/ci?team=blue", { build: 9 }, withToken({ "x-ci": "1" }));
  const list = await porticoHere(gateway.home, ["webhooks", "list"]);
  assert.is(list.code, 0, list.stderr);
  assert.match(list.stdout, /on at \/hooks[\s\S]*ci +\/hooks\/ci/);
  const deliveries = await porticoHere(gateway.home, [
    "webhooks",
    "deliveries",
    "--source",
    "ci",
    "--limit",
    "1",
    "--json",
  ]);
  const { id } = JSON.parse(deliveries.stdout).deliveries[0];
  const table = await porticoHere(gateway.home, ["webhooks", "deliveries"]);
  const [, short = ""] = /^(del_\w+) /m.exec(table.stdout) ?? [];
  assert.ok(short.length < 20 && id.endsWith(short.slice("del_".length)), table.stdout);
  for (const part of [short, short.slice("del_".length), id.slice(0, -2)])
    assert.match(
      (await porticoHere(gateway.home, ["webhooks", "show", part])).stdout,
      new RegExp(id),
    );
  const many = await porticoHere(gateway.home, ["webhooks", "show", id.slice(0, 8)]);
  assert.match(many.stderr, /ids begin or end with/);
  const show = await porticoHere(gateway.home, ["webhooks", "show", short]);
  assert.match(show.stdout, /accepted[\s\S]*"build":9/);
  const replay = await porticoHere(gateway.home, ["webhooks", "replay", id]);
  assert.match(replay.stdout, /started turn_/);
  const dry = await porticoHere(gateway.home, [
    "webhooks",
    "test",
    "ci",
    "--header",
    "X-CI: 1",
    "--query",
    "team=x",
    "--body",
    '{"build":1}',
  ]);
  assert.match(dry.stdout, /ci → agent in the session webhook:ci:1[\s\S]*Build 1 of x/);
  const wrong = await porticoHere(gateway.home, ["webhooks", "show", "del_none"]);
  assert.is(wrong.code, 1);
  assert.match(wrong.stderr, /no delivery del_none/);
});

test("deliveries can be watched as they come", async () => {
  const stop = new AbortController();
  const feed = await gateway.request("GET", "/webhooks/tail", undefined, { signal: stop.signal });
  const rows: Row[] = [];
  const reading = (async () => {
    let text = "";
    for await (const bytes of feed.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(bytes).toString();
      for (let cut = text.indexOf("\n\n"); cut >= 0; cut = text.indexOf("\n\n")) {
        const data = /^data: (.*)$/m.exec(text.slice(0, cut))?.[1];
        text = text.slice(cut + 2);
        if (data) rows.push(JSON.parse(data));
      }
    }
  })().catch(() => {});
  const { body } = await gateway.send("/hooks/agent", { message: "watched" });
  await gateway.send("/hooks/wake", { text: "x" }, {});
  await until("both", () => rows.length === 2);
  const { deliveryId, turnId } = await gateway.json(
    "POST",
    `/webhooks/deliveries/${rows[0]?.id}/replay`,
  );
  await until("the replay", () => rows.length === 3);
  stop.abort();
  await reading;
  assert.equal(
    rows.map(({ source, outcome, status, itemId }) => [source, outcome, status, itemId]),
    [
      ["agent", "accepted", 200, body.turnId],
      ["wake", "unauthorized", 401, undefined],
      ["agent", "accepted", 200, turnId],
    ],
  );
  assert.is(rows[2]?.id, deliveryId);
});

test("a tail prints one delivery a line, as JSON too", async () => {
  for (const words of [
    ["webhooks", "tail"],
    ["webhooks", "tail", "--json"],
  ]) {
    const stop = new AbortController();
    let printed = "";
    const onOutput = (stdout: string) => {
      printed = stdout;
    };
    const tailing = porticoHere(gateway.home, words, process.env, {
      signal: stop.signal,
      onOutput: onOutput,
    });
    await until("two of them", async () => {
      await gateway.send("/hooks/wake", { text: "x" });
      return printed.split("\n").length > 2;
    });
    stop.abort();
    assert.is((await tailing).code, 130);
    const [first = ""] = printed.split("\n");
    if (words.includes("--json")) assert.is(JSON.parse(first).outcome, "accepted");
    else assert.match(first, /^\S+Z {2}del_\w+ {2}wake {2}accepted {2}200 {2}evt_\w+$/);
  }
});

test("only allowed addresses may call", async () => {
  const fenced = await startReceiver({ allowedIps: ["10.0.0.0/8", "2001:db8::/32"] });
  try {
    const response = await fenced.send("/hooks/wake", { text: "x" });
    assert.is(response.status, 403);
    assert.is(response.body.error.code, "forbidden");
  } finally {
    await fenced.stop();
  }
});

test("webhooks need a section, a token switches them on, and without credentials every request is refused", async () => {
  for (const [webhooks, headers, status] of [
    [undefined, {}, 404],
    [{ token: "t0ken" }, { authorization: "Bearer t0ken" }, 200],
    [{ token: "t0ken", enabled: false }, { authorization: "Bearer t0ken" }, 404],
    [{ enabled: true }, {}, 401],
    [{ enabled: true }, { authorization: "Bearer " }, 401],
  ] as const) {
    const other = await startGateway({ config: webhooks ? { webhooks } : {} });
    try {
      const response = await clientOf(() => other.url).send(
        "/hooks/wake",
        { text: "x" },
        { ...headers },
      );
      assert.is(response.status, status, JSON.stringify(webhooks));
      assert.is(response.body.status, status, "the webhooks' own form");
      if (status === 404)
        assert.match(response.body.error.message, /Webhooks are off.*webhooks\.token/);
    } finally {
      await other.stop();
    }
  }
});

test("a gateway that starts with a wrong mapping refuses that one, and takes the rest", async () => {
  const other = await startReceiver({
    mappings: {
      evil: { match: { "body.x": { regex: "(a+)+$" } } },
      good: { match: {}, message: "{body.x}" },
    },
  });
  try {
    assert.is((await other.send("/hooks", { x: `${"a".repeat(50_000)}b` })).status, 200);
    assert.is((await other.send("/hooks/wake", { text: "x" })).status, 200);
    const refused = await other.send("/hooks/evil", { x: "a" });
    assert.is(refused.status, 503);
    assert.ok(refused.headers.get("retry-after"));
    const { refused: refusedMappings } = await other.json("GET", "/webhooks");
    assert.match(refusedMappings.evil, /webhooks\.mappings\.evil\.match\["body\.x"\]/);
    assert.ok(
      other.lines.some(
        (line) => line["level"] === "error" && String(line["msg"]).includes("body.x"),
      ),
    );
  } finally {
    await other.stop();
  }
});

test("a mapping that was invalid at the start does not block other changes", async () => {
  const wrong = { message: "no address" };
  const other = await startReceiver({
    mappings: { ü: wrong, good: { match: {}, message: "{body.x}" } },
  });
  const { config } = other.gateway;
  const refusal = async () => (await other.json("GET", "/webhooks")).refused.ü;
  const notices = async () => JSON.stringify((await other.json("GET", "/kernel/status")).notices);
  try {
    await config.set("webhooks.mappings.second", { message: "{body.y}" });
    assert.is((await other.send("/hooks/second", { y: 1 })).status, 200);
    assert.match(await refusal(), /webhooks\.mappings\.ü is part of an address/);
    assert.match(await notices(), /webhooks\.mappings\.ü is part of an address/);

    const refused = (change: Promise<unknown>): Promise<string> =>
      change.then(
        () => "it was taken",
        ({ message }: Error) => message,
      );
    assert.match(
      await refused(config.set("webhooks.mappings.ü", { message: "still none" })),
      /webhooks\.mappings\.ü/,
    );
    assert.match(await refused(config.set("webhooks.mappings.ö", wrong)), /webhooks\.mappings\.ö/);

    // another plugin refuses what mends it here
    const text = readFileSync(config.file, "utf8");
    const mended = JSON.parse(text) as { webhooks: { mappings: object }; mcp?: object };
    mended.webhooks.mappings = { u: wrong };
    mended.mcp = { servers: { neither: {} } };
    other.write("portico.json", JSON.stringify(mended));
    await until("its refusal", () => config.problem?.message.includes("mcp.servers.neither"));
    assert.is((await other.send("/hooks/second", { y: 2 })).status, 200);
    assert.ok(await refusal());
    assert.not(
      other.lines.some(({ msg }) =>
        String(msg).includes("some parts of the gateway could not return"),
      ),
    );

    other.write("portico.json", text);
    await until("the file as it was", () => config.problem === undefined);
    await config.unset("webhooks.mappings.ü");
    assert.is(await refusal(), undefined);
    assert.not.match(await notices(), /mapping/);
  } finally {
    await other.stop();
  }
});

test("the limit applies to any window", async () => {
  const windowMs = 1500;
  const limited = await startReceiver({ rateLimit: { maxRequests: 5, windowMs } });
  try {
    const accepted: { sent: number; answered: number }[] = [];
    await until("three windows", async () => {
      const sent = Date.now();
      const { status } = await limited.send("/hooks/wake", { text: "x" });
      if (status === 200) accepted.push({ sent, answered: Date.now() });
      return accepted.length >= 15;
    });
    // a request is counted between its sending and its answer
    for (const [i, { answered: status }] of accepted.entries())
      if (i >= 5)
        assert.ok(status - accepted[i - 5]!.sent >= windowMs, `${i}: ${JSON.stringify(accepted)}`);
  } finally {
    await limited.stop();
  }
});

test.run();
