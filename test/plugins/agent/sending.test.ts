/** `message:sending` runs before the response of a turn is stored or sent, whatever started the turn. */
import type { TurnStatus } from "portico/agent";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { until, untilRight } from "../../support/until.ts";
import { type ScriptedGateway, scriptedGateway } from "./scripted.ts";

const token = "a-webhook-token-of-the-test";
const GUARD = `
const seen = globalThis[Symbol.for("portico.test.sending")] = [];
export default (event) => {
  const { content } = event.context;
  seen.push({ ...event.context, sessionKey: event.sessionKey });
  if (content.includes("NEVER")) return { block: "not this" };
  if (content.includes("BROKEN") && seen.filter((one) => one.content === content).length === 1) throw new Error("boom");
  event.context.content = content.replace("SECRET", "[gone]");
};
`;
const ASKING = `
import { definePlugin } from "portico";
export default definePlugin({ name: "asking", needs: ["chat"], setup(ctx) {
  const messages = [{ role: "user", content: "SECRET" }];
  ctx.route("POST", "/t/ask", { access: "gateway" }, () => ctx.use("chat").complete({ model: "agent", messages }));
} });
`;
interface Sending {
  content: string;
  source: string;
  to: string;
  sessionKey: string;
}
const sendings = () =>
  (globalThis as unknown as Record<symbol, Sending[]>)[Symbol.for("portico.test.sending")]!;

let g: ScriptedGateway;
test.before(async () => {
  g = await scriptedGateway({
    config: {
      models: { guarded: { targets: ["agent", "scripted"] } },
      webhooks: { enabled: true, token },
      agents: { defaults: { heartbeat: { every: "0" } } },
    },
    files: {
      "hooks/guard/HOOK.md": "---\nevents: [message:sending]\nfailClosed: true\n---\n",
      "hooks/guard/handler.mjs": GUARD,
      "workspace/inbox/one": "SECRET",
      "plugins/asking/plugin.ts": ASKING,
    },
  });
  g.script(
    ({ messages }) =>
      `I say ${/SECRET|NEVER|BROKEN\d?/.exec(JSON.stringify(messages.at(-1)))?.[0]}.`,
  );
});
test.after(() => g.stop());
test.before.each(() => {
  sendings().length = 0;
});

interface Shown {
  messages: { role: string; content: string }[];
}
const assistantText = async (session: string) =>
  (await g.json<Shown>("GET", `/sessions/${encodeURIComponent(session)}`)).messages.at(-1)?.content;
const turnOf = (turnId: string) => g.json<TurnStatus>("GET", `/turns/${turnId}`);
const webhook = (body: object) =>
  fetch(`${g.url}/hooks/agent`, {
    method: "POST",
    headers: { "x-service-token": token, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** The session of a turn that is to say SECRET. */
const starts: Record<string, () => Promise<string>> = {
  async http() {
    const { result, sessionId } = await g.json("POST", "/agent", {
      message: "SECRET",
      wait: true,
      session: "asked",
    });
    assert.is(result, "I say [gone].");
    return sessionId;
  },
  async webhook() {
    const response = await webhook({ message: "SECRET", wait: true });
    const { result, sessionId } = (await response.json()) as TurnStatus;
    assert.is(result, "I say [gone].");
    return sessionId;
  },
  async cron() {
    const payload = { kind: "agentTurn", message: "SECRET", session: "ticks" };
    const { id } = await g.json("POST", "/cron/jobs", {
      name: "ticks",
      schedule: "@yearly",
      payload,
    });
    await g.json("POST", `/cron/jobs/${id}/run`);
    return "ticks";
  },
  async poll() {
    const payload = { kind: "agentTurn", message: "Look at SECRET", session: "inbox" };
    const source = { kind: "file", path: "inbox" };
    const { id } = await g.json("POST", "/polls", {
      name: "inbox",
      every: "1h",
      source,
      fireOnFirst: true,
      payload,
    });
    await g.json("POST", `/polls/${id}/run`);
    return "inbox";
  },
};

for (const [source, start] of Object.entries(starts)) {
  test(`a handler changes the response of a turn once: ${source}`, async () => {
    const session = await start();
    await untilRight(
      () => assistantText(session).catch(() => ""),
      (text) => text === "I say [gone].",
    );
    assert.equal(
      sendings().map(({ content, source, to, sessionKey }) => [content, source, to, sessionKey]),
      [["I say SECRET.", source, session, session]],
    );
  });
}

test("an announcement contains the response as handlers changed it", async () => {
  await g.json("POST", "/agent", {
    message: "SECRET",
    wait: true,
    session: "loud",
    delivery: "announce",
  });
  assert.is(await assistantText("main"), "[loud] I say [gone].");
});

test("a stream is held until handlers have judged the response", async () => {
  const text = await (
    await g.request("POST", "/agent", { message: "SECRET", stream: true, session: "live" })
  ).text();
  assert.is(Array.from(text.matchAll(/event: delta/g)).length, 1, text);
  assert.ok(text.includes('{"text":"I say [gone]."}') && !text.includes("SECRET"), text);
});

test("a chat completion of the agent is judged once, before it is stored", async () => {
  const messages = [{ role: "user", content: "SECRET" }];
  for (const stream of [false, true]) {
    sendings().length = 0;
    const headers = { "x-portico-session": `talk-${stream}` };
    const body = { model: "agent", messages, stream };
    const text = await (await g.request("POST", "/v1/chat/completions", body, { headers })).text();
    assert.ok(text.includes("I say [gone].") && !text.includes("SECRET"), text);
    assert.equal(
      sendings().map((sending) => sending.source),
      ["chat"],
    );
    assert.is(await assistantText(`talk-${stream}`), "I say [gone].");
  }
});

test("a refused chat completion of the agent asks no other target", async () => {
  const body = { model: "guarded", messages: [{ role: "user", content: "NEVER" }] };
  const response = await g.request("POST", "/v1/chat/completions", body);
  assert.is(response.status, 403);
  assert.match(await response.text(), /not this/);
});

test("handlers do not judge responses to a hook's own requests to the agent", async () => {
  assert.match(JSON.stringify(await g.json("POST", "/t/ask")), /I say SECRET/);
  assert.equal(sendings(), []);
});

test("a refused response gives 403 to a waiting caller and ends a queued turn without another attempt", async () => {
  const waited = [
    await g.request("POST", "/agent", { message: "NEVER", wait: true }),
    await webhook({ message: "NEVER", wait: true }),
  ];
  for (const response of waited) {
    assert.is(response.status, 403);
    assert.match(await response.text(), /blocked_by_hook/);
  }
  const { turnId } = await g.json("POST", "/agent", { message: "NEVER", session: "no" });
  const dead = await untilRight(
    () => turnOf(turnId),
    (turn) => turn.state === "dead",
  );
  assert.equal([dead.error?.code, dead.attempts, dead.result], ["blocked_by_hook", 1, undefined]);
  assert.not.match(String(await assistantText("no")), /I say/);
});

test("a handler that fails closed gives 503 to a waiting caller at once, and a queued turn another attempt", async () => {
  const waited = await g.request("POST", "/agent", { message: "BROKEN1", wait: true });
  assert.is(waited.status, 503);
  assert.match(await waited.text(), /hook_unavailable/);
  const { turnId } = await g.json("POST", "/agent", { message: "BROKEN2", session: "mended" });
  const done = await until("its end", async () => {
    const turn = await turnOf(turnId);
    return turn.state === "done" ? turn : undefined;
  });
  assert.equal([done.attempts, done.result], [2, "I say BROKEN2."]);
});

test.run();
