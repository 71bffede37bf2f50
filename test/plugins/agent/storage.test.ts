/** The storage of a client's turns is limited; the model and the caller receive an error at the limit. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { clientKey, secretOfKey } from "../../support/principals.ts";
import { suite } from "../../support/suite.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("storage of clients");
const QUOTA = 60_000;
let up: Upstream;
let gateway: InProcessGateway;
/** The output of the last tool. */
let result = "";

/** Obeys `FILE <path> <size>` and `NOTE <name> <size>` of the last user message. */
function obey(messages: { role: string; content: string }[]) {
  const last = messages.at(-1)!;
  if (last.role === "tool") {
    result = last.content;
    return completion("done");
  }
  const [, order, where, size] = /(FILE|NOTE) (\w+) (\d+)/.exec(last.content) ?? [];
  const text = "y".repeat(Number(size));
  const name = { FILE: "files", NOTE: "memory" }[order ?? ""];
  const args = JSON.stringify(
    order === "FILE"
      ? { action: "write", path: where, content: text }
      : { action: "append", note: where, text },
  );
  if (name === undefined) return completion("done");
  const call = { id: "call_1", type: "function", function: { name, arguments: args } };
  const whole = completion("") as ReturnType<typeof JSON.parse>;
  whole.choices[0].message = { role: "assistant", content: null, tool_calls: [call] };
  whole.choices[0].finish_reason = "tool_calls";
  return whole;
}

const WEBHOOK_TOKEN = "webhook-token-of-the-quota-test";

test.before(async () => {
  up = await startUpstream(({ body }, res) => json(res, obey(body.messages)));
  gateway = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0 } },
      gateway: {
        keys: Object.assign(
          {},
          ...["files", "talk", "notes", "big"].map((name) => clientKey(name)),
        ),
      },
      agents: { defaults: { model: "main/m", quotaBytes: QUOTA, heartbeat: { every: "0" } } },
      webhooks: {
        enabled: true,
        token: WEBHOOK_TOKEN,
        mappings: {
          named: { message: "{body.text}", session: "{body.customer}", wait: true },
          unnamed: { message: "{body.text}", wait: true },
        },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

async function chat(key: string, content: string, session = "s") {
  const body = { model: "agent", messages: [{ role: "user", content }] };
  const headers = { "x-portico-session": session };
  const response = await gateway.request("POST", "/v1/chat/completions", body, {
    token: secretOfKey(key),
    headers,
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, error };
}

test("the files of a client are limited by its quota, and the model receives the reason", async () => {
  // The transcript of a turn also contains the text that the turn writes.
  assert.is((await chat("files", "FILE f1 15000")).status, 200);
  assert.match(result, "Wrote f1");
  assert.is((await chat("files", "FILE f2 40000", "other")).status, 200);
  assert.match(result, /agents.defaults.quotaBytes/);
});

test("when the transcripts of a client are full, its turns are refused on arrival and nothing more is stored", async () => {
  let last = { status: 200 } as Awaited<ReturnType<typeof chat>>;
  let served = 0;
  for (let i = 0; i < 20 && last.status === 200; i++) {
    last = await chat("talk", "word ".repeat(1000), `s${i % 3}`);
    if (last.status === 200) served++;
  }
  assert.equal([last.status, last.error?.code], [507, "storage_full"]);
  assert.match(last.error!.message, /60000 bytes/);
  assert.ok(served >= 8 && served <= 12, String(served));
  const size = async () => (await gateway.json("GET", "/turns?limit=100")).turns.length;
  const before = await size();
  for (let i = 0; i < 5; i++)
    assert.is((await chat("talk", "word ".repeat(1000), `new${i}`)).status, 507);
  assert.is(await size(), before);
});

test("other clients are not affected, and a client can continue after it has deleted sessions", async () => {
  assert.is((await chat("notes", "hello")).status, 200);
  const own = { message: "word ".repeat(30_000), session: "main", wait: true };
  assert.is((await gateway.json("POST", "/agent", own)).result, "done");
  for (const session of ["s0", "s1"])
    await gateway.request("DELETE", `/sessions/${encodeURIComponent(`key:talk:${session}`)}`);
  assert.is((await chat("talk", "word ".repeat(1000))).status, 200);
});

test("notes count as well, and so does a single request that is too long", async () => {
  await chat("notes", "FILE f1 24000", "n1");
  assert.is((await chat("notes", "NOTE long 19999", "n2")).status, 200);
  assert.match(result, /agents.defaults.quotaBytes/);
  assert.is((await chat("big", "x".repeat(QUOTA + 1))).status, 507);
  assert.is((await chat("big", "hello")).status, 200);
});

for (const mapping of ["named", "unnamed"])
  test(`all sessions of the mapping ${mapping} count together, whatever they are called`, async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 20 && statuses.at(-1) !== 507; i++) {
      const body = { text: "word ".repeat(1000), customer: `c${i}` };
      const token = WEBHOOK_TOKEN;
      const response = await gateway.request("POST", `/hooks/${mapping}`, body, { token });
      statuses.push(response.status);
    }
    assert.ok(statuses.length > 5 && statuses.length < 14, String(statuses));
    assert.is(statuses.at(-1), 507);
  });

test.run();
