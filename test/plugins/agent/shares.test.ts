/** One slot is reserved for the owner however many turns clients have, and no client has all others. */
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
import { until } from "../../support/until.ts";

const test = suite("shares of turns");
let up: Upstream;
let gateway: InProcessGateway;
/** The model replies to messages of clients once it resolves. */
let gate: Promise<void>;
let open: () => void;

test.before.each(() => {
  gate = new Promise((resolve) => {
    open = resolve;
  });
});
test.before(async () => {
  up = await startUpstream(async ({ body }, res) => {
    if (!JSON.stringify(body.messages).includes("of the owner")) await gate;
    json(res, completion("done"));
  });
});
test.after(async () => {
  await up?.close();
});

async function start(maxConcurrentTurns: number): Promise<void> {
  gateway = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0 } },
      gateway: { keys: { ...clientKey("a"), ...clientKey("b") } },
      agents: { defaults: { model: "main/m", maxConcurrentTurns, heartbeat: { every: "0" } } },
      webhooks: {
        enabled: true,
        token: "webhook-token-of-the-owner",
        keys: { ci: { token: "webhook-token-of-ci-0001" } },
      },
    },
  });
}

const chat = (name: string, i: number) =>
  gateway.request(
    "POST",
    "/v1/chat/completions",
    { model: "agent", messages: [{ role: "user", content: `task ${i}` }] },
    { token: secretOfKey(name), headers: { "x-portico-session": `s${i}` } },
  );
const own = () =>
  gateway.json("POST", "/agent", { message: "a task of the owner", session: "main", wait: true });
const turns = (name: string, size: number) => Array.from({ length: size }, (_, i) => chat(name, i));

test("with two slots, twenty long turns of a client leave one slot to the owner", async () => {
  await start(2);
  try {
    const before = up.seen.length;
    const waiting = turns("a", 20);
    await until("the client's first turn runs", () => up.seen.length > before);
    assert.is((await own()).result, "done");
    assert.is((await own()).result, "done");
    assert.is(up.seen.length - before, 3);
    open();
    const statuses = await Promise.all(waiting.map(async (response) => (await response).status));
    assert.ok(
      statuses.every((status) => status === 200),
      "and all of the client's end",
    );
  } finally {
    await gateway.stop();
  }
});

test("with four slots, no client has more than half of the slots that are not reserved for the owner", async () => {
  await start(4);
  try {
    const before = up.seen.length;
    const waiting = turns("a", 10);
    await until("two of them run", () => up.seen.length - before === 2);
    waiting.push(...turns("b", 10));
    await until("and one of another client", () => up.seen.length - before === 3);
    const event = await gateway.request(
      "POST",
      "/hooks/agent",
      { message: "from outside", session: "webhook:ci:x" },
      { token: "webhook-token-of-ci-0001" },
    );
    assert.is(event.status, 200);
    assert.is((await own()).result, "done");
    assert.is(up.seen.length - before, 4);
    open();
    await Promise.all(waiting);
    const { turnId } = (await event.json()) as { turnId: string };
    await until("the webhook's turn ends", async () => {
      const { state } = await gateway.json("GET", `/turns/${turnId}`);
      return state === "done";
    });
  } finally {
    await gateway.stop();
  }
});

test.run();
