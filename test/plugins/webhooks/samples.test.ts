/** The request that a mapping is made for: caught as it comes, then tried and checked against. */
import { createHmac } from "node:crypto";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import { type Receiver, startReceiver, TOKEN, withToken } from "./sender.ts";

const test = suite("samples");
const SLACK = "slack-secret-0123456789";
let gateway: Receiver;

test.before(async () => {
  gateway = await startReceiver({
    rateLimit: { maxRequests: 2000, windowMs: 60_000 },
    mappings: {
      ci: {
        match: { "headers.x-ci": { exists: true } },
        message: "Build {body.build} of {query.team}",
        session: "ci:{body.build}",
      },
      opened: { match: { "body.kind": "opened" }, message: "{body.title}" },
      slack: { message: "{body.event.text}", verify: { scheme: "slack", secret: SLACK } },
    },
  });
});
test.after(() => gateway.stop());

/** Requests a catch, and records whether it has ended. */
function catching(path: string) {
  const state = { ended: false, caught: gateway.json("POST", `/webhooks/samples/${path}`) };
  void state.caught.finally(() => {
    state.ended = true;
  });
  return state;
}

test("a request that the match refuses, such as a sender's ping, becomes a sample only if any request may", async () => {
  const [fitting, any] = [catching("opened"), catching("opened?any=true")];
  await until("any", async () => {
    await gateway.send("/hooks/opened", { kind: "ping" });
    return any.ended;
  });
  assert.equal((await any.caught).sample.body, { kind: "ping" });
  await until("the one that fits", async () => {
    await gateway.send("/hooks/opened", { kind: "opened", title: "x" });
    return fitting.ended;
  });
  assert.equal((await fitting.caught).sample.body, { kind: "opened", title: "x" });
});

test("a challenge never becomes a sample", async () => {
  const send = (body: object) => {
    const at = String(Math.floor(Date.now() / 1000));
    const text = JSON.stringify(body);
    const signature = createHmac("sha256", SLACK).update(`v0:${at}:${text}`).digest("hex");
    return gateway.send("/hooks/slack", body, {
      "x-slack-request-timestamp": at,
      "x-slack-signature": `v0=${signature}`,
    });
  };
  const caught = catching("slack");
  let turn = 0;
  await until("the event", async () => {
    await send({ type: "url_verification", challenge: "c" });
    await send({ type: "event_callback", event: { text: "hi" }, event_id: `e${turn++}` });
    return caught.ended;
  });
  assert.is((await caught.caught).sample.body.type, "event_callback");
});

test("a catch without a request reports what it waited for", async () => {
  for (const query of ["timeout=0.05", "timeout=0.05&any=true"]) {
    const response = await gateway.request("POST", `/webhooks/samples/opened?${query}`);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.is(error.code, "timeout");
    assert.match(error.message, "opened");
  }
});

test("a catch that is to wait for no time, or for longer than an hour, is refused", async () => {
  for (const timeout of [
    "soon",
    "",
    "0",
    "-1",
    "1e9",
    "3601",
    "Infinity",
    "NaN",
    "9".repeat(1000),
  ]) {
    const response = await gateway.request("POST", `/webhooks/samples/opened?timeout=${timeout}`);
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    assert.equal(
      [response.status, error.code, error.param],
      [400, "invalid_request_error", "timeout"],
      timeout,
    );
  }
});

test("a mapping's next request is kept as its sample", async () => {
  const catching = porticoHere(gateway.home, ["webhooks", "catch", "ci", "--json"]);
  let done = false;
  void catching.finally(() => {
    done = true;
  });
  await until("the catch", async () => {
    await gateway.send(
      "/hooks/ci?team=green",
      { build: 12, token: "hidden" },
      withToken({ "x-ci": "1" }),
    );
    return done;
  });
  const { code, stdout, stderr } = await catching;
  assert.is(code, 0, stderr);
  const { sample, paths } = JSON.parse(stdout);
  assert.equal(sample.body, { build: 12, token: "********" });
  for (const path of ["body.build", "headers.x-ci", "query.team"])
    assert.ok(paths.includes(path), path);
  assert.not(paths.includes("headers.authorization"));
  assert.not.match(JSON.stringify(sample), TOKEN);
  const dry = await porticoHere(gateway.home, ["webhooks", "test", "ci"]);
  assert.match(dry.stdout, /Build 12 of green/);
  // Omitted members come from the sample.
  await porticoHere(gateway.home, [
    "config",
    "set",
    "webhooks.mappings.ci.match",
    '{"headers.x-ci":"1"}',
  ]);
  const words = ["webhooks", "test", "ci", "--json", "--body", '{"build":13}'];
  const own = JSON.parse((await porticoHere(gateway.home, words)).stdout);
  assert.is(own.outcome, undefined);
  assert.match(own.text, /13[\s\S]*green/);
  const other = JSON.parse(
    (await porticoHere(gateway.home, ["webhooks", "test", "ci", "--json", "--header", "X-CI: 2"]))
      .stdout,
  );
  assert.is(other.outcome, "skipped");
  const none = await gateway.request("POST", "/webhooks/samples/none");
  assert.is(none.status, 404);
  await none.text();
  const change = { message: "Order {body.biuld}", session: "", match: {} };
  const tried = await gateway.json("POST", "/webhooks/test", { path: "ci", change });
  assert.equal(tried.nearest, { "{body.biuld}": "body.build" });
  assert.is(tried.session, "(a separate session)");
  assert.is(
    (await gateway.request("POST", "/webhooks/test", { path: "ci", change: { match: { x: 1 } } }))
      .status,
    400,
  );
  // what the sample has nothing for is refused, with the nearest that it has
  await porticoHere(gateway.home, [
    "config",
    "set",
    "webhooks.mappings.ci.message",
    "Build {body.biuld}",
  ]);
  await until("the refusal", () =>
    gateway.lines.some((line) => JSON.stringify(line).includes("{body.build}")),
  );
});

test.run();
